import { askFourLetters } from './four-letters.ts'

/** Digests by zxid, as servers remember them of every 128th transaction. */
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
 * Lines of a server's log in which it says that its tree is not what a transaction promises.
 *
 * Not those of an Apache learner that is being brought up by a snapshot, whoever leads: the stream
 * is written while writes go on, does not say until when, and the learner compares all the same.
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

/** What Apache must be told to log, so that the above can be known. */
export const sayHowLearning =
  'org.slf4j.simpleLogger.log.org.apache.zookeeper.server.quorum.Learner=info'
