import { askFourLetters } from './four-letters.ts'

/** Digests by zxid, which servers record for every 128th transaction. */
export async function rememberedDigests(
  host: string,
  port: number,
): Promise<ReadonlyMap<string, string>> {
  const answer = await askFourLetters(host, port, 'hash')
  const pairs = answer.matchAll(/^([0-9a-f]+)\s*:\s*(-?\d+)$/gm)
  return new Map(Array.from(pairs, ([, zxid = '', digest = '']) => [zxid, digest]))
}

const complaint = /digests? (are|is) not matching|tree: digest differs/i
const bySnapshot = /Getting a snapshot from leader/
const otherwise = /Getting a diff from the leader|Truncating log to get in sync/

/**
 * Log lines in which a server reports that its tree differs from the digest of a transaction.
 *
 * Lines of an Apache learner that loads a snapshot are ignored: the snapshot is written while
 * writes continue and does not say how far it goes, but the learner compares digests all the same.
 */
export function digestComplaints(log: string): string[] {
  const found: string[] = []
  let isAmidSnapshot = false
  for (const line of log.split('\n')) {
    if (bySnapshot.test(line)) isAmidSnapshot = true
    else if (otherwise.test(line)) isAmidSnapshot = false
    if (!complaint.test(line)) continue
    if (!(isAmidSnapshot && line.startsWith('[QuorumPeer'))) found.push(line)
  }
  return found
}

/** Log settings of Apache that the above needs. */
export const sayHowLearning =
  'org.slf4j.simpleLogger.log.org.apache.zookeeper.server.quorum.Learner=info'
