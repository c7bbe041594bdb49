import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { ApacheRelease } from '../interop/src/apache.ts'
import { defaultScenarios, scenarios } from './scenarios.ts'

export type Topology = 'standalone' | 'ensemble'

export interface Options {
  readonly servers: readonly string[]
  readonly apache: ApacheRelease
  readonly jvm: readonly string[]
  /** Lines added to every server's zoo.cfg. */
  readonly config: readonly string[]
  /** Whether clients connect by TLS. */
  readonly tls: boolean
  readonly topologies: readonly Topology[]
  readonly scenarios: readonly string[]
  readonly rounds: number
  readonly processes: number
  readonly warmRounds: number
  readonly durationS: number
  readonly warmupS: number
  readonly fill: number
  readonly fillSize: number
  readonly startup: number
  readonly failover: number
  readonly maxLoad: number
  readonly targets: boolean
  readonly workDir: string
  readonly keep: boolean
}

export const usage = `usage: npm run bench -- [options]
  --scenarios LIST   names, or default, all, none; --list prints them        [default]
  --rounds N         measured rounds of every scenario, servers alternating  [5]
  --processes N      repeat all this with new processes and empty data, N times  [1]
  --warm-rounds N    unmeasured rounds before them, for the compilers        [1]
  --duration S       seconds measured in one run                             [4]
  --warmup S         seconds before them that do not count                   [1]
  --fill N           also: create N znodes; memory for one, restart on them  [0]
  --fill-size B      bytes in each of them                                   [100]
  --startup N        also: N starts with empty data                          [0]
  --failover N       also: N times kill -9, and N times SIGTERM, of the leader of three [0]
  --targets          print beside each ratio its target and whether it is met;
                     fills 1000000 and starts 5 times unless told otherwise
  --servers LIST     the first is what the others are compared with; the folder of
                     another clone, with a slash, is its build; settings of
                     one follow it, as in zabra+history.enabled=false        [apache,zabra]
  --apache RELEASE   3.8 (Debian's package) or 3.9                           [3.8]
  --jvm FLAGS        for Apache; the default is the limit its own start script sets [-Xmx1000m]
  --config KEY=VALUE a line for every zoo.cfg, e.g. forceSync=no; may be repeated
  --tls              clients connect by TLS, without client certificates
  --topology LIST    standalone, ensemble (three servers)                    [standalone]
  --max-load L       before each run wait, a minute at most, for a load below L
  --work DIR         data and raw results, on the disk to be measured        [bench/work]
  --keep             keep the data directories`

const flags = {
  scenarios: { type: 'string', default: 'default' },
  rounds: { type: 'string', default: '5' },
  processes: { type: 'string', default: '1' },
  'warm-rounds': { type: 'string', default: '1' },
  duration: { type: 'string', default: '4' },
  warmup: { type: 'string', default: '1' },
  fill: { type: 'string' },
  'fill-size': { type: 'string', default: '100' },
  startup: { type: 'string' },
  failover: { type: 'string', default: '0' },
  targets: { type: 'boolean', default: false },
  servers: { type: 'string', default: 'apache,zabra' },
  apache: { type: 'string', default: '3.8' },
  jvm: { type: 'string', default: '-Xmx1000m' },
  config: { type: 'string', multiple: true },
  tls: { type: 'boolean', default: false },
  topology: { type: 'string', default: 'standalone' },
  'max-load': { type: 'string', default: '0' },
  work: { type: 'string', default: fileURLToPath(new URL('work', import.meta.url)) },
  keep: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

/** Parses the command line; throws a sentence if it is wrong. */
export function parseOptions(args: readonly string[]): Options | 'help' | 'list' {
  const { values } = parseArgs({ args: [...args], options: flags })
  if (values.help) return 'help'
  if (values.list) return 'list'
  return {
    servers: parseList(values.servers),
    apache: parseRelease(values.apache),
    jvm: values.jvm.split(' ').filter((flag) => flag !== ''),
    config: values.config ?? [],
    tls: values.tls,
    topologies: parseList(values.topology).map(parseTopology),
    scenarios: parseScenarios(values.scenarios),
    rounds: parseNumber('rounds', values.rounds),
    processes: parseNumber('processes', values.processes),
    warmRounds: parseNumber('warm-rounds', values['warm-rounds']),
    durationS: parseNumber('duration', values.duration),
    warmupS: parseNumber('warmup', values.warmup),
    fill: parseNumber('fill', values.fill ?? (values.targets ? '1000000' : '0')),
    fillSize: parseNumber('fill-size', values['fill-size']),
    startup: parseNumber('startup', values.startup ?? (values.targets ? '5' : '0')),
    failover: parseNumber('failover', values.failover),
    maxLoad: parseNumber('max-load', values['max-load']),
    targets: values.targets,
    workDir: resolve(values.work),
    keep: values.keep,
  }
}

function parseScenarios(text: string): readonly string[] {
  if (text === 'default') return defaultScenarios
  if (text === 'all') return Object.keys(scenarios)
  if (text === 'none') return []
  const names = parseList(text)
  const unknown = names.filter((name) => !Object.hasOwn(scenarios, name))
  if (unknown.length > 0) throw new Error(`no such scenario: ${unknown.join(', ')}`)
  return names
}

function parseTopology(text: string): Topology {
  if (text === 'standalone' || text === 'ensemble') return text
  throw new Error(`no such topology: ${text}`)
}

function parseRelease(text: string): ApacheRelease {
  if (text === '3.8' || text === '3.9') return text
  throw new Error(`no such release of Apache: ${text}`)
}

function parseNumber(name: string, text: string): number {
  const value = Number(text)
  if (text === '' || !Number.isFinite(value) || value < 0) {
    throw new Error(`--${name} takes a number, not '${text}'`)
  }
  return value
}

function parseList(text: string): readonly string[] {
  return text.split(',').filter((item) => item !== '')
}
