/**
 * ZooKeeper's counters of things that cannot happen in this server: it has no cache of replies and
 * no cleaner of dead watchers. They are 0, because dashboards and alerts that sum them up would
 * otherwise show nothing.
 */
export const neverHere = [
  'add_dead_watcher_stall_time',
  'cnxn_closed_without_zk_server_running',
  'dead_watchers_cleared',
  'dead_watchers_queued',
  'ensemble_auth_fail',
  'ensemble_auth_skip',
  'ensemble_auth_success',
  'insecure_admin_count',
  'requests_not_forwarded_to_commit_processor',
  'response_packet_cache_hits',
  'response_packet_cache_misses',
  'response_packet_get_children_cache_hits',
  'response_packet_get_children_cache_misses',
  'skip_learner_request_to_next_processor_count',
  'stale_replies',
  'unrecoverable_error_count',
] as const
