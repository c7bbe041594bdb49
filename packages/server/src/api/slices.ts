import { setImmediate as nextTurn } from 'node:timers/promises'

const sliceMs = 4

/** Lets the server serve others between pieces of a long piece of work. */
export class Slices {
  private startedMs = performance.now()

  /** Undefined while there is time left: awaiting it costs nothing then. */
  pause(): Promise<void> | undefined {
    return performance.now() - this.startedMs < sliceMs ? undefined : this.next()
  }

  private async next(): Promise<void> {
    await nextTurn()
    this.startedMs = performance.now()
  }
}

const runLength = 2048

/** The names in order, by UTF-16 units, without keeping the server from its clients. */
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
