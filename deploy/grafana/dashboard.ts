/**
 * Makes zabra.json, the Grafana dashboard, from the table of panels below:
 *
 *     npx tsx deploy/grafana/dashboard.ts
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

interface Panel {
  readonly title: string
  readonly about: string
  readonly unit?: string
  readonly type?: 'timeseries' | 'stat'
  /** Queries, with what the legend says about each. */
  readonly queries: readonly (readonly [expression: string, legend: string])[]
  readonly width?: number
  /** Where a value becomes a warning, and an error. */
  readonly limits?: readonly [number, number]
}

const chosen = '{job=~"$job", instance=~"$instance"}'
const ofJob = '{job=~"$job"}'
const rate = (metric: string): string => `rate(${metric}${chosen}[$__rate_interval])`
const mean = (metric: string): string =>
  `rate(${metric}_sum${chosen}[$__rate_interval]) / rate(${metric}_count${chosen}[$__rate_interval])`
const quantile = (metric: string, q: string): string =>
  `${metric}{job=~"$job", instance=~"$instance", quantile="${q}"}`
const each = '{{instance}}'

const rows: readonly (readonly [title: string, panels: readonly Panel[]])[] = [
  [
    'Is it well?',
    [
      {
        title: 'Servers up',
        about: 'Servers that Prometheus can scrape, of those it should.',
        type: 'stat',
        width: 4,
        queries: [
          [`sum(up${ofJob})`, 'up'],
          [`count(up${ofJob})`, 'of'],
        ],
      },
      {
        title: 'Leaders',
        about: 'One, in an ensemble. 0 means that nobody can write.',
        type: 'stat',
        width: 4,
        queries: [[`count(learners${ofJob}) or vector(0)`, 'leaders']],
      },
      {
        title: 'Followers up to date',
        about: 'Of the leader. One fewer than the servers that vote is complete.',
        type: 'stat',
        width: 4,
        queries: [
          [`max(synced_followers${ofJob})`, 'up to date'],
          [`max(quorum_size${ofJob}) - 1`, 'of'],
        ],
      },
      {
        title: 'Sessions',
        about: 'Sessions of the whole ensemble.',
        type: 'stat',
        width: 4,
        queries: [[`max(global_sessions${ofJob}) + sum(local_sessions${ofJob})`, 'sessions']],
      },
      {
        title: 'Znodes',
        about: 'Znodes in the tree, which every server holds whole.',
        type: 'stat',
        width: 4,
        queries: [[`max(znode_count${ofJob})`, 'znodes']],
      },
      {
        title: 'Trees that differ',
        about: 'Must be 0: a tree was not what a transaction said it must be.',
        type: 'stat',
        width: 4,
        limits: [1, 1],
        queries: [[`sum(digest_mismatches_count${ofJob})`, 'mismatches']],
      },
    ],
  ],
  [
    'Requests',
    [
      {
        title: 'Requests answered',
        about: 'By server. A busy server beside idle ones means that clients are spread unevenly.',
        unit: 'reqps',
        queries: [[rate('op_count_total'), each]],
      },
      {
        title: 'Transactions committed',
        about: 'Writes, as each server applies them.',
        unit: 'wps',
        queries: [[rate('commit_count'), each]],
      },
      {
        title: 'Read latency',
        about: 'From a request to its reply, over the last minute.',
        unit: 'ms',
        queries: [
          [quantile('readlatency', '0.5'), `${each} median`],
          [quantile('readlatency', '0.99'), `${each} 99 %`],
        ],
      },
      {
        title: 'Write latency',
        about: 'From a request to its reply, over the last minute.',
        unit: 'ms',
        queries: [
          [quantile('updatelatency', '0.5'), `${each} median`],
          [quantile('updatelatency', '0.99'), `${each} 99 %`],
        ],
      },
      {
        title: 'Requests that wait',
        about: 'Near globalOutstandingLimit (1000) the server reads more slowly from its clients.',
        limits: [500, 900],
        queries: [[`outstanding_requests${chosen}`, each]],
      },
      {
        title: 'Traffic with clients',
        about: 'Bytes of requests and of responses.',
        unit: 'Bps',
        queries: [
          [rate('bytes_received_count'), `${each} in`],
          [rate('response_bytes'), `${each} out`],
        ],
      },
    ],
  ],
  [
    'Clients',
    [
      {
        title: 'Connections',
        about: 'Clients connected to each server.',
        queries: [[`num_alive_connections${chosen}`, each]],
      },
      {
        title: 'Sessions that expired',
        about: 'Clients that were not heard of in time.',
        queries: [[`increase(stale_sessions_expired${chosen}[$__rate_interval])`, each]],
      },
      {
        title: 'Connections turned away',
        about: 'Beyond maxClientCnxns or maxCnxns.',
        queries: [[`increase(connection_rejected${chosen}[$__rate_interval])`, each]],
      },
      {
        title: 'Watches',
        about: 'Watches on each server.',
        queries: [[`watch_count${chosen}`, each]],
      },
      {
        title: 'Clients told of one change',
        about: 'On average. Large numbers are herds: many clients wake up for one change.',
        queries: [
          [mean('node_changed_watch_count'), `${each} data`],
          [mean('node_children_watch_count'), `${each} children`],
        ],
      },
      {
        title: 'Ephemeral znodes',
        about: 'Locks held, members of groups, services on offer.',
        queries: [[`ephemerals_count${chosen}`, each]],
      },
    ],
  ],
  [
    'Disk',
    [
      {
        title: 'Time of a sync',
        about: 'The floor under every write.',
        unit: 'ms',
        limits: [50, 200],
        queries: [[mean('fsynctime'), each]],
      },
      {
        title: 'Transactions in one sync',
        about: 'Writes that come together share a sync: this grows with load.',
        queries: [[mean('sync_processor_batch_size'), each]],
      },
      {
        title: 'Slow syncs',
        about: 'Slower than fsync.warningthresholdms.',
        queries: [[`increase(fsync_threshold_exceed_count${chosen}[$__rate_interval])`, each]],
      },
      {
        title: 'Data held',
        about: 'Approximate size of the data of all znodes.',
        unit: 'bytes',
        queries: [[`approximate_data_size${chosen}`, each]],
      },
    ],
  ],
  [
    'Ensemble',
    [
      {
        title: 'Elections',
        about: 'An ensemble at rest elects nobody.',
        queries: [[`increase(looking_count${chosen}[$__rate_interval])`, each]],
      },
      {
        title: 'Time until a quorum has a transaction',
        about: 'Of the leader: from its making until a quorum has it on disk.',
        unit: 'ms',
        queries: [
          [quantile('quorum_ack_latency', '0.5'), `${each} median`],
          [quantile('quorum_ack_latency', '0.99'), `${each} 99 %`],
        ],
      },
      {
        title: 'Time until a server has applied a transaction',
        about: 'How far each server is behind. Compares the clocks of two machines.',
        unit: 'ms',
        queries: [[quantile('propagation_latency', '0.99'), `${each} 99 %`]],
      },
      {
        title: 'Servers brought up',
        about: 'By what they lacked, or by a snapshot of everything.',
        queries: [
          [`increase(diff_count${chosen}[$__rate_interval])`, `${each} by transactions`],
          [`increase(snap_count${chosen}[$__rate_interval])`, `${each} by snapshot`],
        ],
      },
    ],
  ],
  [
    'Process',
    [
      {
        title: 'Share of time that the thread is busy',
        about: 'One thread serves everybody: near 1 it is the limit.',
        unit: 'percentunit',
        limits: [0.7, 0.9],
        queries: [[`nodejs_eventloop_utilization${chosen}`, each]],
      },
      {
        title: 'Processor',
        about: 'Cores in use, the threads of the disk included.',
        queries: [[rate('process_cpu_seconds_total'), each]],
      },
      {
        title: 'Memory',
        about: 'Resident, and what of it is objects and buffers.',
        unit: 'bytes',
        queries: [
          [`process_resident_memory_bytes${chosen}`, `${each} resident`],
          [`nodejs_heap_size_used_bytes${chosen}`, `${each} objects`],
          [`nodejs_array_buffer_bytes${chosen}`, `${each} buffers`],
        ],
      },
      {
        title: 'File descriptors',
        about: 'Each connection takes one.',
        unit: 'percentunit',
        limits: [0.7, 0.85],
        queries: [
          [`open_file_descriptor_count${chosen} / max_file_descriptor_count${chosen}`, each],
        ],
      },
    ],
  ],
]

const gridWidth = 24
const source = { type: 'prometheus', uid: '${datasource}' }

/** The dashboard, as Grafana 10 and newer import it. */
export function dashboard(): object {
  const panels: object[] = []
  let y = 0
  for (const [title, inRow] of rows) {
    panels.push({
      type: 'row',
      id: panels.length + 1,
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: gridWidth, h: 1 },
    })
    y += 1
    let x = 0
    for (const panel of inRow) {
      const w = panel.width ?? 12
      const h = panel.type === 'stat' ? 4 : 8
      panels.push({ id: panels.length + 1, gridPos: { x, y, w, h }, ...panelOf(panel) })
      x += w
      if (x === gridWidth) {
        x = 0
        y += h
      }
    }
  }
  return {
    uid: 'zabra',
    title: 'zabra',
    description: 'Servers and ensembles of zabra.',
    tags: ['zabra', 'zookeeper'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: { list: variables() },
    annotations: { list: [] },
    panels,
  }
}

function panelOf({ title, about, unit, type, queries, limits }: Panel): object {
  const steps = [
    { color: 'green', value: null },
    ...(limits === undefined
      ? []
      : [
          { color: 'orange', value: limits[0] },
          { color: 'red', value: limits[1] },
        ]),
  ]
  return {
    title,
    description: about,
    type: type ?? 'timeseries',
    datasource: source,
    targets: queries.map(([expr, legendFormat], i) => ({
      refId: String.fromCodePoint(65 + i),
      datasource: source,
      expr,
      legendFormat,
      instant: type === 'stat',
      range: type !== 'stat',
    })),
    fieldConfig: {
      defaults: {
        unit: unit ?? 'short',
        min: 0,
        color: { mode: type === 'stat' ? 'thresholds' : 'palette-classic' },
        thresholds: { mode: 'absolute', steps },
      },
      overrides: [],
    },
    options:
      type === 'stat'
        ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', textMode: 'auto' }
        : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
  }
}

function variables(): object[] {
  const query = (name: string, label: string, expression: string): object => ({
    name,
    label,
    type: 'query',
    datasource: source,
    query: { query: expression, refId: name },
    definition: expression,
    refresh: 2,
    includeAll: true,
    multi: true,
    current: { text: 'All', value: '$__all' },
  })
  return [
    { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
    query('job', 'Ensemble', 'label_values(up{job=~"zabra.*"}, job)'),
    query('instance', 'Server', 'label_values(up{job=~"$job"}, instance)'),
  ]
}

if (import.meta.url === pathToFileURL(process.argv[1]!).href)
  writeFileSync(
    join(import.meta.dirname, 'zabra.json'),
    `${JSON.stringify(dashboard(), null, 2)}\n`,
  )
