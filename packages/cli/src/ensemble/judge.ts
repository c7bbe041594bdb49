import { addressText } from './address.ts'
import { lagBehind } from './server-status.ts'
import { leads, type Survey } from './survey.ts'

export type Verdict = 'ok' | 'warning' | 'problem'

/** One thing that was looked at. */
export interface Finding {
  readonly check: string
  readonly verdict: Verdict
  readonly message: string
  /** Advice for the operator. */
  readonly advice?: string
}

export interface Limits {
  /** Transactions that a member may be behind. */
  readonly lagMax: number
  /** Milliseconds that a sync of the log may take on average. */
  readonly syncMsMax: number
  /** Requests that may wait on a member. */
  readonly outstandingMax: number
}

/** Judges the state of an ensemble. */
export function judge(found: Survey, limits: Limits): Finding[] {
  return [
    ...leadership(found),
    ...quorum(found),
    ...found.answers.flatMap(({ member, status, problem }) => {
      const name = nameOf(member)
      if (status === undefined)
        return [{ check: name, verdict: 'problem', message: problem } as const]
      const { metrics, outstanding, zxid, mode } = status
      const lag = lagBehind(found.newest, zxid)
      const syncMs = metrics?.get('avg_fsynctime')
      const findings: Finding[] = []
      const warn = (message: string, advice: string): void => {
        findings.push({ check: name, verdict: 'warning', message, advice })
      }
      if (mode === 'read-only')
        findings.push({
          check: name,
          verdict: 'problem',
          message: 'serves reads only: it has no quorum',
        })
      if (lag === undefined || lag > limits.lagMax)
        warn(
          lag === undefined ? 'is in an older epoch' : `is ${lag} transactions behind`,
          'check its network and disk; `zabra doctor` on its machine tells more',
        )
      if (syncMs !== undefined && syncMs > limits.syncMsMax)
        warn(
          `its disk takes ${syncMs.toFixed(1)} ms to make a write durable`,
          'give dataLogDir a disk of its own',
        )
      if (outstanding > limits.outstandingMax)
        warn(`${outstanding} requests wait`, '`zabra top` shows which clients send them')
      if ((metrics?.get('digest_mismatches_count') ?? 0) > 0)
        findings.push({
          check: name,
          verdict: 'problem',
          message: 'its tree differs from what its leader computed',
          advice:
            'stop it, keep its data directory for analysis, and let it start with an empty one',
        })
      const used = ratio(
        metrics?.get('open_file_descriptor_count'),
        metrics?.get('max_file_descriptor_count'),
      )
      if (used > 0.8)
        warn(
          `uses ${Math.round(used * 100)} % of its file descriptors`,
          'raise its limit (ulimit -n)',
        )
      return findings.length > 0
        ? findings
        : [{ check: name, verdict: 'ok', message: `${mode}, ${lag} behind` } as const]
    }),
  ]
}

function leadership({ leaders, answers, advice }: Survey): Finding[] {
  if (advice !== undefined)
    return [{ check: 'servers', verdict: 'problem', message: 'none of them answers', advice }]
  if (leaders === 1) {
    const leader = answers.find(({ status }) => leads(status?.mode))!
    return [{ check: 'leader', verdict: 'ok', message: nameOf(leader.member) }]
  }
  return [
    leaders === 0
      ? {
          check: 'leader',
          verdict: 'problem',
          message: 'no member leads: writes wait',
          advice: 'start enough members for a quorum, and check the election ports between them',
        }
      : {
          check: 'leader',
          verdict: 'warning',
          message: `${leaders} members say that they lead`,
          advice: 'ask again in a moment: one of them has been replaced',
        },
  ]
}

function quorum({ voters, votersUp, quorum: needed }: Survey): Finding[] {
  if (voters <= 1) return []
  if (votersUp === 0) return []
  const message = `${votersUp} of ${voters} voters answer, ${needed} are needed`
  if (votersUp < needed) return [{ check: 'quorum', verdict: 'problem', message }]
  if (votersUp > needed) return [{ check: 'quorum', verdict: 'ok', message }]
  return [
    {
      check: 'quorum',
      verdict: voters === votersUp ? 'ok' : 'warning',
      message: `${message}: none more may fail`,
      advice: 'bring the missing voters back',
    },
  ]
}

function nameOf(member: Survey['answers'][number]['member']): string {
  const server = member.client === undefined ? 'no client port' : addressText(member.client)
  return member.id === undefined ? server : `server.${member.id} (${server})`
}

function ratio(part: number | undefined, whole: number | undefined): number {
  return part === undefined || whole === undefined || whole <= 0 ? 0 : part / whole
}
