/**
 * Metrics of Apache's threads, queues and processors, which zabra does not have. A dashboard that
 * shows them is empty for zabra; `docs/monitoring.md` says so.
 */
const inside =
  /^(zk_|\.)?(avg_|min_|max_|cnt_|sum_|p50_|p95_|p99_|p999_)?(\d+_learner_handler_qp_(size|time_ms)|\d+_ack_latency|(leader|follower|observer|zookeeper)_(read|write)_per_namespace|close_session_prep_time|commit_commit_proc_req_queued|commit_process_time|concurrent_request_processing_in_commit_processor|dead_watchers_cleaner_latency|inflight_(diff|snap)_count|jvm_pause_time_ms|learner_request_processor_queue_size|(local|server)_write_committed_time_ms|netty_queued_buffer_capacity|om_(commit|proposal)_process_time_ms|outstanding_changes_(queued|removed)|pending_session_queue_size|prep_process_time|prep_processor_\w+|proposal_process_time|(read|write)_commit_proc_(issued|req_queued)|(read|write)_commitproc_time_ms|(read|write)_final_proc_time_ms|reads_(after_write_in|issued_from)_session_queue|request_commit_queued|request_throttle_queue_time_ms|requests_in_session_queue|session_queues_drained|socket_closing_time|startup_(snap|txns)_load_time|sync_process_time|sync_processor_(queue\w+|request_queued)|time_waiting_empty_pool_in_commit_processor_read_ms|write_batch_time_in_commit_processor)(: \w+)?$/

/** Times at which nothing expires any more, which Apache lists until it removes them. */
const emptyExpiry = '.expiry_time_to_session_ids.#[]'

/** Lines that only Apache has, with good reason. */
export function isOnlyApaches(line: string): boolean {
  return inside.test(line) || line === emptyExpiry || line === '.initial_configuration: null'
}

/**
 * Lines that only zabra has: operations and slow syncs, which Apache's release does not count;
 * limits and reasons of expiry, which it does not have; and the configuration file of a member.
 */
export function isOnlyZabras(line: string): boolean {
  return (
    /op_count_|fsync_threshold_exceed_count|limit_reached_|failed_password_count|unread_bytes|sessions_expired_by_verdict|admin_port|connection_rejected_no_descriptor/.test(
      line,
    ) ||
    line === '.initial_configuration: string' ||
    line.startsWith('adminAddress=')
  )
}
