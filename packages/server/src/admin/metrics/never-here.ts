/**
 * Counters of ZooKeeper for things that cannot happen in this server: no caches of replies, no
 * queues of stale requests, no cleaner of dead watchers; and those about leaders and learners,
 * which are not counted yet. Told as 0, because boards and alerts that sum them up would
 * otherwise show nothing at all.
 */
export const neverHere = [
  'add_dead_watcher_stall_time',
  'connection_drop_count',
  'connection_revalidate_count',
  'dead_watchers_cleared',
  'dead_watchers_queued',
  'diff_count',
  'ensemble_auth_fail',
  'ensemble_auth_skip',
  'ensemble_auth_success',
  'insecure_admin_count',
  'large_requests_rejected',
  'learner_commit_received_count',
  'learner_proposal_received_count',
  'looking_count',
  'proposal_count',
  'quit_leading_due_to_disloyal_voter',
  'request_throttle_wait_count',
  'response_packet_cache_hits',
  'response_packet_cache_misses',
  'response_packet_get_children_cache_hits',
  'response_packet_get_children_cache_misses',
  'revalidate_count',
  'snap_count',
  'stale_replies',
  'stale_requests',
  'stale_requests_dropped',
  'throttled_ops',
  'tls_handshake_exceeded',
  'unrecoverable_error_count',
  'unsuccessful_handshake',
] as const
