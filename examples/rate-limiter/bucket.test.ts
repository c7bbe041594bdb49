import { expect, test } from 'vitest'
import { takeFrom, type Bucket } from './bucket.ts'

const limit = { permitsPerSecond: 10, burst: 3 }

test('a full bucket gives its burst at once, and then one permit each interval', () => {
  let bucket: Bucket = { fullAtMs: 0 }
  const waits = Array.from({ length: 6 }, () => {
    const taken = takeFrom(bucket, 1, 5000, limit)
    bucket = taken.bucket
    return taken.waitMs
  })
  expect(waits).toEqual([0, 0, 0, 100, 200, 300])
})

test('a bucket fills up again with time, and no further than full', () => {
  const empty = takeFrom({ fullAtMs: 0 }, 3, 5000, limit).bucket
  expect(takeFrom(empty, 1, 5050, limit).waitMs).toBe(50)
  expect(takeFrom(empty, 1, 5100, limit).waitMs).toBe(0)
  expect(takeFrom(empty, 4, 60_000, limit).waitMs).toBe(100)
})
