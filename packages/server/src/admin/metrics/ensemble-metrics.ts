import { ZabStats } from '@zabra/core'
import type { EnsembleView, ServerView } from '../../view/server-view.ts'
import { counter, gauge, summary, type Metric, type Value } from './metric.ts'

/** The values on a standalone server: nothing has happened. */
const noStats = new ZabStats()

/** Measurements of the servers of an ensemble. */
export function ensembleMetrics({ ensemble }: ServerView): Metric[] {
  const stats = ensemble?.stats ?? noStats
  return [
    ...(ensemble === undefined ? [] : ensembleGauges(ensemble)),
    counter('looking_count', stats.lookings, 'Times this server looked for a leader.'),
    counter('diff_count', stats.diffsSent, 'Learners synchronized by DIFF.'),
    counter('snap_count', stats.snapshotsSent, 'Learners synchronized by a snapshot.'),
    counter('proposal_count', stats.proposals, 'Transactions proposed as leader.'),
    counter(
      'learner_proposal_received_count',
      stats.proposalsReceived,
      'Proposals received from the leader.',
    ),
    counter(
      'learner_commit_received_count',
      stats.commitsReceived,
      'Commits received from the leader.',
    ),
    counter('revalidate_count', stats.revalidations, 'Sessions revalidated for learners.'),
    counter(
      'quit_leading_due_to_disloyal_voter',
      stats.desertions,
      'Times this server stopped leading because voters wanted another leader.',
    ),
    summary('election_time', stats.electionMs, 'Milliseconds that an election took.'),
    summary(
      'unavailable_time',
      stats.unavailableMs,
      'Milliseconds from losing a leader to serving again.',
    ),
    summary(
      'leader_unavailable_time',
      stats.leaderUnavailableMs,
      'Milliseconds from losing a leader to leading.',
    ),
    summary(
      'follower_sync_time',
      stats.followerSyncMs,
      'Milliseconds until a follower was up to date.',
    ),
    summary(
      'observer_sync_time',
      stats.observerSyncMs,
      'Milliseconds until an observer was up to date.',
    ),
    summary(
      'quorum_ack_latency',
      stats.quorumAckMs,
      'Milliseconds from proposal until a quorum has logged it.',
    ),
    summary(
      'proposal_latency',
      stats.proposalMs,
      'Milliseconds from proposal until this learner receives it.',
    ),
    summary(
      'proposal_ack_creation_latency',
      stats.ackMs,
      'Milliseconds from proposal until the first of a batch is logged here.',
    ),
    summary(
      'commit_propagation_latency',
      stats.commitMs,
      'Milliseconds from proposal until its commit arrives here.',
    ),
    summary(
      'propagation_latency',
      stats.propagationMs,
      'Milliseconds from proposal until it is applied here.',
    ),
  ]
}

function ensembleGauges({ membership, stats, leadership, servedObservers }: EnsembleView): Value[] {
  const voters = [...membership.servers.values()].filter(({ role }) => role === 'participant')
  const size = gauge('quorum_size', voters.length, 'Number of voting servers.')
  const observers =
    servedObservers === undefined
      ? []
      : [gauge('synced_observers', servedObservers.synced.length, 'Observers that are up to date.')]
  if (leadership === undefined) return [size, ...observers]
  const { learners, pendingSyncs, uptimeMs } = leadership
  const synced = learners.filter(({ isSynced }) => isSynced)
  const followers = synced.filter(({ isObserver }) => !isObserver)
  const isVoter = (sid: bigint): boolean => membership.servers.get(sid)?.role === 'participant'
  const { last, min, max } = stats.proposalBytes
  return [
    size,
    gauge('learners', learners.length, 'Followers and observers connected to this leader.'),
    gauge('synced_followers', followers.length, 'Followers that are up to date.'),
    gauge(
      'synced_non_voting_followers',
      followers.filter(({ sid }) => !isVoter(sid)).length,
      'Followers that are up to date and do not vote.',
    ),
    ...observers,
    gauge('pending_syncs', pendingSyncs, 'Syncs that wait for earlier proposals.'),
    gauge('leader_uptime', uptimeMs, 'Milliseconds since this server became leader.'),
    gauge('last_proposal_size', last, 'Bytes of the last proposal.'),
    gauge('min_proposal_size', min, 'Bytes of the shortest proposal.'),
    gauge('max_proposal_size', max, 'Bytes of the longest proposal.'),
  ]
}
