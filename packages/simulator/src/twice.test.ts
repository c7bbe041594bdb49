import { expect, test } from 'vitest'
import { Transcript } from './history/transcript.ts'
import type { RunResult } from './run.ts'
import { runSeed } from './run-seed.ts'
import { runTwice } from './twice.ts'

function resultOf(seed: number, line: string, count = 1): RunResult {
  const transcript = new Transcript()
  transcript.add(seed, line)
  const counts = new Map([['events', count]])
  return { seed, violations: [], transcript, counts, steps: 0, faults: 0 }
}

async function different(
  seeds: readonly number[],
  runOne: (seed: number) => Promise<RunResult>,
): Promise<number[]> {
  const found: number[] = []
  for await (const { result, isSame } of runTwice(seeds, runOne)) {
    if (!isSame) found.push(result.seed)
  }
  return found
}

test('a seed that depends on what ran before it is found', async () => {
  let last = 0
  const leaking = (seed: number): Promise<RunResult> => {
    const result = resultOf(seed, seed === 2 ? `after ${last}` : 'alone')
    last = seed
    return Promise.resolve(result)
  }
  expect(await different([1, 2, 3], leaking)).toEqual([2])
})

test('so is one that only counts differently', async () => {
  let runs = 0
  const counting = (seed: number): Promise<RunResult> =>
    Promise.resolve(resultOf(seed, 'equal', runs++))
  expect(await different([7], counting)).toEqual([7])
})

test('runs of all kinds leave nothing behind', async () => {
  expect(await different([1, 2], (seed) => runSeed({ seed }))).toEqual([])
  expect(await different([3, 4], (seed) => runSeed({ seed, servers: 3 }))).toEqual([])
  expect(await different([5, 6], (seed) => runSeed({ seed, recipe: 'any' }))).toEqual([])
}, 600_000)
