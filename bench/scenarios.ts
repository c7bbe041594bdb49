import type { LoadResult } from './zkload.ts'
import { atLeast, atMost, type Target } from './targets.ts'

/** One load, and the one figure of its result to compare. */
export interface Scenario {
  readonly mode: 'throughput' | 'latency' | 'watch' | 'sessions'
  /** Arguments of zkload. Without `--duration` a scenario uses the one of the command line. */
  readonly load: string
  readonly unit: string
  readonly figure: (result: LoadResult) => number | undefined
  /** For a single server. */
  readonly target?: Target
  /** For an ensemble of three. */
  readonly ensembleTarget?: Target
}

const operations = {
  mode: 'throughput',
  unit: 'op/s',
  figure: (result) => result.ops_per_s,
} as const satisfies Partial<Scenario>

const notifications = {
  mode: 'watch',
  unit: 'notif/s',
  figure: (result) => result.notif_per_s,
} as const satisfies Partial<Scenario>

const sessions = {
  mode: 'sessions',
  unit: 'open/s',
  figure: (result) => result.sessions_per_s,
} as const satisfies Partial<Scenario>

const pipelined = '--conns 16 --pipeline 16'
const depthOne = '--conns 100 --pipeline 1'
const open5000 = '--conns 5000 --session-timeout 6000 --max-time 90'

export const scenarios: Readonly<Record<string, Scenario>> = {
  'read-100B': {
    ...operations,
    load: `${pipelined} --mix get --size 100`,
    target: atLeast(5),
    ensembleTarget: atLeast(8),
  },
  'read-1KB': { ...operations, load: `${pipelined} --mix get --size 1024` },
  'read-100B-100c1': {
    ...operations,
    load: `${depthOne} --mix get --size 100`,
    target: atLeast(1.1),
  },
  'write-100B': {
    ...operations,
    load: `${pipelined} --mix set --size 100`,
    target: atLeast(2.5),
    ensembleTarget: atLeast(2.5),
  },
  'write-1KB': {
    ...operations,
    load: `${pipelined} --mix set --size 1024`,
    target: atLeast(1.8),
    ensembleTarget: atLeast(2),
  },
  'write-100B-100c1': {
    ...operations,
    load: `${depthOne} --mix set --size 100`,
    target: atLeast(1.2),
    ensembleTarget: atLeast(1.5),
  },
  'mix-90-10': {
    ...operations,
    load: `${pipelined} --read-pct 90 --size 100`,
    target: atLeast(3),
    ensembleTarget: atLeast(4),
  },
  'create-delete': {
    ...operations,
    load: `${pipelined} --mix createdel --size 100`,
    target: atLeast(2.5),
  },
  ephemeral: { ...operations, load: `${pipelined} --mix createdel --create-flags 1 --size 100` },
  exists: { ...operations, load: `${pipelined} --mix exists` },
  'children-10': { ...operations, load: `${pipelined} --mix children --fanout 10` },
  'lat-read': {
    mode: 'latency',
    load: '--mix get --size 100',
    unit: 'us p50',
    figure: (result) => result.read_us?.p50,
    target: atMost(0.5),
    ensembleTarget: atMost(0.3),
  },
  'lat-write': {
    mode: 'latency',
    load: '--mix set --size 100',
    unit: 'us p50',
    figure: (result) => result.write_us?.p50,
    target: atMost(0.8),
    ensembleTarget: atMost(0.75),
  },
  'lat-read-rate': {
    mode: 'latency',
    load: '--mix get --size 100 --conns 10 --rate 2000',
    unit: 'us p99',
    figure: (result) => result.read_us?.p99,
  },
  'lat-write-rate': {
    mode: 'latency',
    load: '--mix set --size 100 --conns 10 --rate 500',
    unit: 'us p99',
    figure: (result) => result.write_us?.p99,
  },
  'watch-1000': { ...notifications, load: '--conns 1000', target: atLeast(1.3) },
  'watch-1000-persistent': {
    ...notifications,
    load: '--conns 1000 --persistent --pipeline 8',
    target: atLeast(2),
  },
  'sessions-5000': {
    ...sessions,
    load: `${open5000} --parallel 40 --duration 5`,
    target: atLeast(1.2),
  },
  // More simultaneous handshakes than Apache's listen backlog of 50, as in a reconnect storm.
  'sessions-storm': { ...sessions, load: `${open5000} --parallel 1000 --duration 2` },
}

/** The default list: every scenario that has a target. */
export const defaultScenarios: readonly string[] = Object.keys(scenarios).filter(
  (name) => scenarios[name]?.target !== undefined,
)
