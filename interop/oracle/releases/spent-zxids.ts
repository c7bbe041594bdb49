import { isNotification, SeenZxid, type Received, type Told } from '../play/transcript.ts'
import type { Transcript } from '../play/transcript.ts'
import type { Program } from '../program/program.ts'
import { areUndecodable, hasNullAcl } from './multi-creates.ts'
import { answered, type ReleaseDifference } from './release-difference.ts'

export const undecodableWrites: ReleaseDifference = {
  name: 'a write that cannot be decoded costs no zxid',
  since: '3.9.0',
  why: '3.8 spends a zxid on it, and its reply carries that one; in 3.9 it carries the last.',
}

/** The zxids that the older release used for writes that the newer does not count as writes. */
export function spentZxids(program: Program, older: Transcript, newer: Transcript): bigint[] {
  const spent: bigint[] = []
  let [olderLast, newerLast] = [0n, 0n]
  for (const [at, step] of program.steps.entries()) {
    const [olderResult, newerResult] = [older[at], newer[at]]
    if (olderResult === undefined || newerResult === undefined) break
    for (const pair of answered(step, olderResult, newerResult)) {
      const [a, b] = [zxidOf(pair.older), zxidOf(pair.newer)]
      const isFresh = a === olderLast + 1n && b === newerLast
      if (isFresh && (areUndecodable(pair) || hasNullAcl(pair))) spent.push(a)
      olderLast = latest(olderLast, [pair.older])
      newerLast = latest(newerLast, [pair.newer])
    }
    olderLast = latest(olderLast, Object.values(olderResult.received).flat())
    newerLast = latest(newerLast, Object.values(newerResult.received).flat())
  }
  return spent
}

/** The transcript as if those zxids did not exist: later ones move up. */
export function withoutZxids(transcript: Transcript, spent: readonly bigint[]): Transcript {
  if (spent.length === 0) return transcript
  const moved = (zxid: bigint) => zxid - BigInt(spent.filter((one) => one <= zxid).length)
  const convert = (told: Told): Told => {
    if (told instanceof SeenZxid) return new SeenZxid(moved(told.value))
    if (Array.isArray(told)) return told.map(convert)
    if (typeof told !== 'object' || told === null) return told
    return Object.fromEntries(Object.entries(told).map(([key, inner]) => [key, convert(inner)]))
  }
  return convert(transcript as unknown as Told) as unknown as Transcript
}

function zxidOf(received: Received): bigint | undefined {
  const zxid = received['zxid']
  return zxid instanceof SeenZxid ? zxid.value : undefined
}

function latest(last: bigint, list: readonly Received[]): bigint {
  return list.reduce((highest, received) => {
    const zxid = isNotification(received) ? undefined : zxidOf(received)
    return zxid !== undefined && zxid > highest ? zxid : highest
  }, last)
}
