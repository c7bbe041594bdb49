import { expect, test } from 'vitest'
import { merged } from './merged.ts'

const connection = { address: '10.0.0.7' }
const of = (id: string, isConnected = false, isOfApi = false) => ({
  id,
  connection: isConnected ? connection : null,
  isOfApi,
})

test('a session has the connection of the server that serves it', () => {
  const found = merged(
    [of('a', true), of('b'), of('c')],
    [of('b', true), of('c'), of('d', true)],
    false,
  )
  expect(found).toEqual([of('a', true), of('b', true), of('c')])
})

test('those that only another server finds are added where a filter is asked everywhere', () => {
  const found = merged([of('a')], [of('a', false, true), of('b', true)], true)
  expect(found).toEqual([of('a', false, true), of('b', true)])
})
