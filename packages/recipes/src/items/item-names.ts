import { numberOf } from './outbox.ts'

/** Which item comes next, and with it how items are named. */
export type Order = 'inOrder' | 'byPriority' | 'byTime' | 'byId'

export interface ItemName {
  readonly name: string
  /**
   * The sort key: items with smaller numbers are delivered first. In a delay queue, the time when
   * the item is due.
   */
  readonly priority: number
  /** The id given by the producer, in an id queue. */
  readonly id: string | undefined
  readonly sequence: number
  /** The index within the transaction that created it, if sequence numbers were used up. */
  readonly place: number | undefined
}

/** In the middle, as in kazoo. */
const plainPriority = 100

/** The name of an item without its number, as kazoo's LockingQueue writes it. */
export function nameByPriority(priority = plainPriority): string {
  return `entry-${String(priority).padStart(3, '0')}-`
}

/** An item that is due at a time, in milliseconds since 1970: as Curator's DistributedDelayQueue. */
export function nameByTime(dueMs: number): string {
  return `queue-|${Math.ceil(dueMs).toString(16).toUpperCase().padStart(8, '0')}|`
}

/** Characters that separate ids, or that no path may have. */
const unfit = /[%/|\p{Cc}\p{Co}\p{Cs}\ufff0-\uffff\u{10000}-\u{10ffff}]/gu

/** An item that is found by an id, as Curator's DistributedIdQueue. */
export function nameById(id: string): string {
  return `queue-|${id.replaceAll(unfit, encodeURIComponent)}|`
}

/** Undefined if it is not an item of such a queue. */
export function parseName(name: string, order: Order): ItemName | undefined {
  const [, mark = '', rest = ''] =
    (order === 'byTime' || order === 'byId' ? curatorName : kazooName).exec(name) ?? []
  const number = numberOf(rest)
  if (number === undefined) return undefined
  if (order === 'byId') return { name, priority: 0, id: decoded(mark), ...number }
  const priority = Number.parseInt(mark, order === 'byTime' ? 16 : 10)
  return Number.isNaN(priority) ? undefined : { name, priority, id: undefined, ...number }
}

const kazooName = /^entry-(\d{3})-(.*)$/
const curatorName = /^queue-\|([^|]*)\|(.*)$/

/** Curator does not encode ids. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
