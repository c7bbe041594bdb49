import { Slices } from '../base/slices.ts'

const runLength = 2048

/** Sorts names by UTF-16 units, without blocking the server for long. */
export async function sortInSlices(names: readonly string[]): Promise<string[]> {
  const slices = new Slices()
  let runs: string[][] = []
  for (let at = 0; at < names.length; at += runLength) {
    runs.push(names.slice(at, at + runLength).toSorted())
    await slices.pause()
  }
  while (runs.length > 1) {
    const merged: string[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      const [a, b] = [runs[at]!, runs[at + 1]]
      merged.push(b === undefined ? a : await merge(a, b, slices))
    }
    runs = merged
  }
  return runs[0] ?? []
}

async function merge(a: string[], b: string[], slices: Slices): Promise<string[]> {
  const all: string[] = []
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    all.push(a[i]! <= b[j]! ? a[i++]! : b[j++]!)
    if (all.length % runLength === 0) await slices.pause()
  }
  while (i < a.length) all.push(a[i++]!)
  while (j < b.length) all.push(b[j++]!)
  return all
}
