import { isRefusal, joinPath, type CallOptions, type Client } from '@zabra/client'
import { compareSequence, sequenceMax, sequenceOf } from '../nodes/sequence.ts'

export interface Contender {
  readonly name: string
  /** The prefix before the number. */
  readonly mark: string
  readonly sequence: number
}

/** The names with one of the marks and a number, unordered. */
export function contendersAmong(names: readonly string[], marks: readonly string[]): Contender[] {
  const found: Contender[] = []
  for (const name of names) {
    for (const mark of marks) {
      const sequence = sequenceOf(name, mark)
      if (sequence === undefined) continue
      found.push({ name, mark, sequence })
      break
    }
  }
  return found
}

/** All contenders in a line, in the order in which they came. */
export async function lineUp(
  client: Client,
  parent: string,
  marks: readonly string[],
  options: CallOptions = {},
): Promise<Contender[]> {
  const all = contendersAmong(await client.children(parent, options), marks)
  if (areTelling(all)) return all.toSorted((a, b) => compareSequence(a.sequence, b.sequence))
  const stats = await Promise.all(
    all.map(({ name }) => client.exists(joinPath(parent, name), options)),
  )
  return all
    .flatMap((contender, i) => {
      const stat = stats[i]
      return stat === undefined ? [] : [{ contender, czxid: stat.czxid }]
    })
    .toSorted((a, b) => (a.czxid < b.czxid ? -1 : 1))
    .map(({ contender }) => contender)
}

/** The same; empty if the line does not exist. */
export async function lineUpIfAny(
  client: Client,
  parent: string,
  marks: readonly string[],
  options: CallOptions = {},
): Promise<Contender[]> {
  try {
    return await lineUp(client, parent, marks, options)
  } catch (error) {
    if (isRefusal(error, 'noNode')) return []
    throw error
  }
}

/**
 * Whether the numbers tell the order. The counter of a parent ends at 2147483647. There it stays,
 * and gives the same number to everybody; old servers continue with negative ones, and current ones
 * give one now and then. Then only the zxids of the nodes tell.
 */
function areTelling(all: readonly Contender[]): boolean {
  const numbers = new Set(all.map(({ sequence }) => sequence))
  if (numbers.size < all.length) return false
  return all.every(({ sequence }) => sequence >= 0 && sequence < sequenceMax)
}
