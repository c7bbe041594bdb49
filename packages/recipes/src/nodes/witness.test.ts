import { ConnectionLossError, type Client } from '@zabra/client'
import { expect, test } from 'vitest'
import { Witness } from './witness.ts'

test('a transaction that was given up is not taken for the next one', async () => {
  const nodes = new Map<string, number>()
  let transactions = 0
  const transaction = {
    set: () => transaction,
    commit: () => {
      // The first happens, but its reply is lost; the second is lost on its way at first.
      if (++transactions === 1) nodes.set([...nodes.keys()][0]!, 1)
      return transactions < 3
        ? Promise.reject(new ConnectionLossError(true))
        : Promise.resolve([{}])
    },
  }
  const client = {
    get patient() {
      return this
    },
    session: { id: 1n },
    state: { name: 'connected' },
    create: (path: string) => {
      const made = `${path}-${nodes.size}`
      nodes.set(made, 0)
      return Promise.resolve({ path: made, stat: { ephemeralOwner: 1n } })
    },
    delete: () => Promise.resolve(),
    transaction: () => transaction,
    exists: (path: string) =>
      transactions === 1
        ? Promise.reject(new Error('given up'))
        : Promise.resolve({ version: nodes.get(path) }),
  } as unknown as Client
  const witness = new Witness(client, '/parent')
  await expect(witness.commit((tx) => tx)).rejects.toThrow('given up')
  await witness.commit((tx) => tx)
  expect(transactions).toBe(3)
})
