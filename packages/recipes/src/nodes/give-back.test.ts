import { OperationError, type Client } from '@zabra/client'
import { expect, test } from 'vitest'
import { deleteOwn } from './give-back.ts'

test('a node is released even if the server refuses for a while', async () => {
  const answers = [new OperationError('systemError'), new OperationError('throttledOp')]
  let deletions = 0
  const client = {
    session: { id: 5n },
    host: {
      timer: (_ms: number, callback: () => void) => {
        queueMicrotask(callback)
        return () => {}
      },
    },
    delete: () => {
      const refusal = answers.shift()
      if (refusal !== undefined) return Promise.reject(refusal)
      deletions++
      return Promise.resolve()
    },
  } as unknown as Client
  await deleteOwn(client, '/lock/one', 5n)
  expect(deletions).toBe(1)
})
