/** How many transactions were logged when: for a chart over any length of time. */
import { timeOf } from './log-index.ts'
import type { PastLogs, ZxidRange } from './past-logs.ts'

/** A span of time in parts of equal length; the last one includes the end. */
export interface Bins {
  readonly fromMs: number
  readonly toMs: number
  readonly count: number
}

/**
 * Counts the transactions of a range by their time; where a clock was set, they count in the nearest
 * part. A block that lies within one part is counted by its index, so at most one block at each
 * boundary is read.
 */
export async function countByTime(
  logs: PastLogs,
  range: ZxidRange,
  { fromMs, toMs, count }: Bins,
): Promise<number[]> {
  const counts = Array.from({ length: count }, () => 0)
  const width = Math.max(1, toMs - fromMs) / count
  const binOf = (timeMs: number): number =>
    Math.min(count - 1, Math.max(0, Math.floor((timeMs - fromMs) / width)))
  for await (const { at, block } of logs.blocksBackward(range, [])) {
    const bin = binOf(block.minMs)
    if (bin === binOf(block.maxMs) && block.firstZxid >= range.from && block.lastZxid <= range.to) {
      counts[bin] = counts[bin]! + block.records
      continue
    }
    await logs.readBlock(at, block, ({ reader, zxid }) => {
      if (zxid > range.to) return false
      if (zxid >= range.from) counts[binOf(timeOf(reader))]!++
      return true
    })
  }
  return counts
}
