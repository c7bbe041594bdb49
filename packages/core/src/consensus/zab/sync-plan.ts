import { counterOf, epochOf } from '../../storage/zxid.ts'
import type { LoggedTxn } from '../../storage/log/committed-log.ts'

/** How a learner is synchronized with the leader's history. */
export type SyncPlan =
  /** It lacks these, if any. */
  | { readonly kind: 'diff'; readonly zxid: bigint; readonly txns: readonly LoggedTxn[] }
  /** It must forget everything after this, and then lacks these. */
  | { readonly kind: 'trunc'; readonly zxid: bigint; readonly txns: readonly LoggedTxn[] }
  /** It gets everything. */
  | { readonly kind: 'snap' }

/** The history of the leader when it was elected: its epoch and its end. */
export interface LeaderStart {
  readonly epoch: bigint
  readonly zxid: bigint
}

/**
 * Decides from the learner's last logged zxid and the history at hand, ascending and without
 * gaps. `lastApplied` is the leader's own; after it is established that is the start of its
 * epoch, beyond every transaction there is.
 */
export function planSync(
  learner: bigint,
  history: readonly LoggedTxn[],
  lastApplied: bigint,
  start: LeaderStart,
): SyncPlan {
  const min = history[0]?.zxid ?? lastApplied
  const max = history.at(-1)?.zxid ?? lastApplied
  // A zxid with counter 0 names an epoch that the learner entered, but no transaction.
  const namesNoTxn = counterOf(learner) === 0n
  if (learner === lastApplied) return { kind: 'diff', zxid: learner, txns: [] }
  if (namesNoTxn && endedAsWeDid(learner, start)) {
    const lacking = history.filter(({ zxid }) => zxid > learner)
    const first = lacking[0]?.zxid ?? lastApplied + 1n
    // All that we have proposed since begins with the first transaction of our own epoch.
    if (counterOf(first) === 1n) {
      return { kind: 'diff', zxid: lacking.at(-1)?.zxid ?? learner, txns: lacking }
    }
  }
  if (learner > max && !namesNoTxn) {
    // A log cannot be cut after a transaction that never existed.
    return counterOf(max) === 0n ? { kind: 'snap' } : { kind: 'trunc', zxid: max, txns: [] }
  }
  // It has everything before an epoch of which this server still has all transactions.
  if (namesNoTxn && history[0]?.zxid === learner + 1n) {
    return { kind: 'diff', zxid: max, txns: history }
  }
  if (learner < min || learner > max) return { kind: 'snap' }
  return planWithin(learner, history, max, namesNoTxn)
}

/**
 * Whether a learner that has nothing of an epoch has all that we began with: we held the history of
 * the same epoch, and had nothing of it either. Of any other epoch we cannot tell what its leader
 * held, or whether it ever had a quorum. (An empty server was in no epoch: as from Apache it gets a
 * snapshot.)
 */
function endedAsWeDid(learner: bigint, start: LeaderStart): boolean {
  return learner > 0n && epochOf(learner) === start.epoch && start.zxid <= learner
}

function planWithin(
  learner: bigint,
  history: readonly LoggedTxn[],
  max: bigint,
  namesNoTxn: boolean,
): SyncPlan {
  const next = history.findIndex(({ zxid }) => zxid > learner)
  const txns = next < 0 ? [] : history.slice(next)
  const last = next < 0 ? history.at(-1) : history[next - 1]
  // One without a transaction of its epoch is known to hold what we do where we have some of it.
  const isKnown = next >= 0 && epochOf(history[next]!.zxid) === epochOf(learner)
  if (last?.zxid === learner || (namesNoTxn && isKnown)) return { kind: 'diff', zxid: max, txns }
  // Its last transaction is none of ours. Across an epoch nothing is known about what it has.
  if (last === undefined || !isKnown) return { kind: 'snap' }
  return { kind: 'trunc', zxid: last.zxid, txns }
}
