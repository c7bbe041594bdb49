import { expect, test } from 'vitest'
import { parseServerLine } from './server-lines.ts'

test('a line describes the server with the id in its key', () => {
  expect(parseServerLine(1, 'zoo1:2888:3888')).toMatchObject({
    value: { id: 1, role: 'participant', addresses: [{ host: 'zoo1' }] },
  })
  expect(parseServerLine(1, 'zoo1:2888')).toHaveProperty('problem')
})
