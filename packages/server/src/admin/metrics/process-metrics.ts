import { performance } from 'node:perf_hooks'
import { counter, gauge, type Value } from './metric.ts'

/** Metrics of the process, by the names of Prometheus' own client libraries. */
export function processMetrics(): Value[] {
  const { rss, heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  return [
    counter('process_cpu_seconds_total', (user + system) / 1e6, 'CPU time used, in seconds.'),
    gauge(
      'process_start_time_seconds',
      performance.timeOrigin / 1000,
      'Start of the process, in seconds since 1970.',
    ),
    gauge('process_resident_memory_bytes', rss, 'Memory in use by the process.'),
    gauge('nodejs_heap_size_total_bytes', heapTotal, 'Size of the JavaScript heap.'),
    gauge('nodejs_heap_size_used_bytes', heapUsed, 'Used part of the JavaScript heap.'),
    gauge('nodejs_external_memory_bytes', external, 'Memory outside the JavaScript heap.'),
    gauge('nodejs_array_buffer_bytes', arrayBuffers, 'Memory in array buffers: znodes and logs.'),
    gauge(
      'nodejs_eventloop_utilization',
      performance.eventLoopUtilization().utilization,
      'Share of time since the start in which the event loop was busy.',
    ),
  ]
}
