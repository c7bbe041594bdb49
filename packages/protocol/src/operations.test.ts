import { expect, test } from 'vitest'
import { errorCodes, errorName } from './errors.ts'
import { inline, operationName, operations, reads, writes } from './operations.ts'

test('no two operations share a number', () => {
  const codes = Object.values(operations).map(({ code }) => code)
  expect(new Set(codes).size).toBe(codes.length)
})

test('no two kinds of operation share a name', () => {
  const count = [writes, reads, inline].reduce((sum, part) => sum + Object.keys(part).length, 0)
  expect(Object.keys(operations)).toHaveLength(count)
})

test('every operation is found by its number', () => {
  for (const [name, { code }] of Object.entries(operations)) expect(operationName(code)).toBe(name)
})

test('unused numbers have no name', () => {
  for (const code of [0, 10, 23, 99, 108, 1000, -2, -12]) {
    expect(operationName(code)).toBeUndefined()
  }
})

test('operations have the numbers of the ZooKeeper protocol', () => {
  const codes = Object.entries(operations).map(([name, { code }]) => [name, code])
  expect(Object.fromEntries(codes)).toEqual({
    create: 1,
    delete: 2,
    exists: 3,
    getData: 4,
    setData: 5,
    getACL: 6,
    setACL: 7,
    getChildren: 8,
    sync: 9,
    ping: 11,
    getChildren2: 12,
    check: 13,
    multi: 14,
    create2: 15,
    reconfig: 16,
    checkWatches: 17,
    removeWatches: 18,
    createContainer: 19,
    deleteContainer: 20,
    createTTL: 21,
    multiRead: 22,
    auth: 100,
    setWatches: 101,
    sasl: 102,
    getEphemerals: 103,
    getAllChildrenNumber: 104,
    setWatches2: 105,
    addWatch: 106,
    whoAmI: 107,
    createSession: -10,
    closeSession: -11,
    error: -1,
  })
})

test('every error is found by its number, and no two share one', () => {
  const codes = Object.values(errorCodes)
  expect(new Set(codes).size).toBe(codes.length)
  for (const [name, code] of Object.entries(errorCodes)) expect(errorName(code)).toBe(name)
  expect(errorName(-999)).toBeUndefined()
})
