import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long a slice of work may keep the loop from serving clients. */
const sliceMs = 4
const piecesBetweenLooks = 256

/**
 * Joins pieces, of which there may be many, in slices between which requests are served. A result
 * made from tables that change in the meantime is therefore not a view of one moment; an iterator
 * over a Map or Set tolerates that.
 */
export async function joinInSlices(pieces: Iterable<string>): Promise<string> {
  const joined: string[] = []
  let buffered: string[] = []
  let started = performance.now()
  for (const piece of pieces) {
    buffered.push(piece)
    if (buffered.length < piecesBetweenLooks) continue
    joined.push(buffered.join(''))
    buffered = []
    if (performance.now() - started < sliceMs) continue
    await nextTurn()
    started = performance.now()
  }
  joined.push(buffered.join(''))
  return joined.join('')
}

/** The first entries only: iterating over a table that keeps growing must end. */
export function* atMost<T>(items: Iterable<T>, count: number): IterableIterator<T> {
  let left = count
  if (left <= 0) return
  for (const item of items) {
    yield item
    if (--left <= 0) return
  }
}
