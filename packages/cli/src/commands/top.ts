import { defineCommand } from '../framework/command.ts'
import { elsewhere } from '../framework/describe-error.ts'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { sparkline } from '../output/sparkline.ts'
import type { Style } from '../output/style.ts'
import { showLive } from '../output/live.ts'
import { formatTable, roundMs } from '../output/table.ts'
import { addressText } from '../ensemble/address.ts'
import { askOptions } from '../ensemble/ask-options.ts'
import { ConnectionLists, type ClientConnection } from '../ensemble/connections.ts'
import { namedMembers, readMembers, type Member } from '../ensemble/members.ts'
import { askMembers, lagBehind, type Answered } from '../ensemble/server-status.ts'
import { leads } from '../ensemble/survey.ts'
import type { AskOptions } from '../ensemble/four-letter.ts'

interface Sample {
  readonly atMs: number
  readonly servers: readonly Answered[]
  readonly clients: readonly ClientConnection[]
}

export const command = defineCommand({
  options: {
    interval: { type: 'duration', short: 'i', help: 'time between updates (1s)' },
    count: {
      type: 'integer',
      min: 1,
      short: 'n',
      help: 'number of updates; unlimited on a terminal, else 1',
    },
    clients: { type: 'integer', help: 'how many of the busiest clients to show (10)' },
  },
  details: `Shows requests per second of every member and of the busiest clients, with latencies, lag and queues, until Ctrl-C.
Clients are shown if the servers answer the word cons, or let you list sessions by the HTTP API of zabra.`,
  examples: [
    ['zabra top', 'live on a terminal'],
    ['zabra top -n 5 -i 10s --json', 'five updates for a program, one line each'],
  ],
  async run({ options, out, settings, signal }) {
    const connection = settings()
    const { interval = 1000, clients: clientsMax = 10 } = options
    const count = (options.count ?? (out.isTerminal && !out.json ? Infinity : 1)) + 1
    const progress = out.progress('asking the servers')
    const members = await readMembers(connection, signal).then(
      (found) => found.members,
      () => namedMembers(connection),
    )
    progress.end()
    const asking = await askOptions(connection, signal)
    const lists = new ConnectionLists(connection, asking, signal)
    let before: Sample | undefined
    const totals: number[] = []
    // The first look only gives the numbers that the second is compared with.
    await showLive(out, { intervalMs: interval, count, signal }, async () => {
      const now = await look(members, asking, lists)
      const earlier = before
      before = now
      if (earlier === undefined) {
        checkAnswers(now)
        return undefined
      }
      const seconds = Math.max(1, now.atMs - earlier.atMs) / 1000
      const servers = serverRates(earlier, now, seconds)
      const clients = clientRates(earlier, now, seconds).slice(0, clientsMax)
      if (out.json) {
        out.dataLine({ time: new Date().toISOString(), servers, clients })
        return []
      }
      const total = servers.reduce((sum, each) => sum + (each.requestsPerSecond ?? 0), 0)
      totals.push(total)
      if (totals.length > totalsMax) totals.shift()
      const tables = render(servers, clients, out.style)
      return out.isTerminal ? [headline(totals, interval, out.style), '', ...tables] : tables
    })
  },
})

/** How many measurements the row of bars shows. */
const totalsMax = 40

function headline(totals: readonly number[], intervalMs: number, style: Style): string {
  const time = new Date().toTimeString().slice(0, 8)
  const total = `${totals.at(-1)!.toLocaleString('en')} requests/s`
  const every = style.dim(`every ${intervalMs / 1000} s, Ctrl-C ends`)
  return `${time}  ${style.bold(total)}  ${style.cyan(sparkline(totals))}  ${every}`
}

/** Fails if no server answers; later, one that stops answering is shown as down. */
function checkAnswers({ servers }: Sample): void {
  const [first] = servers
  if (first === undefined || servers.some(({ status }) => status !== undefined)) return
  const { client } = first.member
  throw new CommandError(
    `${client === undefined ? '' : `${addressText(client)}: `}${first.problem}`,
    {
      code: 'unreachable',
      exitCode: exitCodes.unavailable,
      hint: elsewhere,
    },
  )
}

async function look(
  members: readonly Member[],
  asking: AskOptions,
  lists: ConnectionLists,
): Promise<Sample> {
  const atMs = performance.now()
  const servers = await askMembers(members, asking)
  const clients = await Promise.all(
    servers.map(async ({ member, status }) =>
      status === undefined || member.client === undefined
        ? []
        : lists.of(member.client).catch(() => []),
    ),
  )
  return { atMs, servers, clients: clients.flat() }
}

interface ServerRate {
  readonly server: string
  readonly mode: string
  readonly requestsPerSecond: number | null
  readonly lag: number | null
  readonly latencyMs: number | null
  readonly syncMs: number | null
  readonly outstanding: number | null
  readonly connections: number | null
  readonly watches: number | null
  readonly nodes: number | null
}

function serverRates(before: Sample, now: Sample, seconds: number): ServerRate[] {
  const newest = now.servers.reduce(
    (most, { status }) => (status && status.zxid > most ? status.zxid : most),
    0n,
  )
  return now.servers.map(({ member, status, problem }, index) => {
    const server = member.client === undefined ? `server.${member.id}` : addressText(member.client)
    const received = before.servers[index]?.status?.received
    const metrics = status?.metrics
    return {
      server,
      mode: status?.mode ?? `down: ${problem}`,
      requestsPerSecond: rate(received, status?.received, seconds),
      lag: status === undefined ? null : (lagBehind(newest, status.zxid) ?? null),
      latencyMs: status?.latencyMs.average ?? null,
      syncMs: metrics?.get('avg_fsynctime') ?? null,
      outstanding: status?.outstanding ?? null,
      connections: status?.connections ?? null,
      watches: metrics?.get('watch_count') ?? null,
      nodes: status?.nodes ?? null,
    }
  })
}

function clientRates(before: Sample, now: Sample, seconds: number) {
  const key = ({ server, client }: ClientConnection): string => `${server} ${client}`
  const earlier = new Map(before.clients.map((each) => [key(each), each]))
  // Without a session it is a question such as cons itself.
  return now.clients
    .filter(({ session }) => session !== undefined)
    .map((each) => ({
      client: each.client,
      server: each.server,
      session: each.session ?? null,
      requestsPerSecond: rate(earlier.get(key(each))?.received ?? 0, each.received, seconds) ?? 0,
      latencyMs: each.latencyMs?.average ?? null,
      queued: each.queued,
      lastOperation: each.lastOperation ?? null,
    }))
    .toSorted((a, b) => b.requestsPerSecond - a.requestsPerSecond)
}

/** Undefined before, or counters that were reset meanwhile, give no rate. */
function rate(before: number | undefined, now: number | undefined, seconds: number): number | null {
  if (before === undefined || now === undefined || now < before) return null
  return Math.round((now - before) / seconds)
}

function modeText(mode: string, style: Style): string {
  if (mode.startsWith('down')) return style.red(mode)
  return leads(mode) ? style.green(mode) : mode
}

function render(
  servers: readonly ServerRate[],
  clients: ReturnType<typeof clientRates>,
  style: Style,
): string[] {
  const cell = (value: number | null): number | undefined => value ?? undefined
  const serverTable = formatTable(
    [
      'SERVER',
      'ROLE',
      'REQ/S',
      'LAG',
      'LATENCY(ms)',
      'SYNC(ms)',
      'WAITING',
      'CLIENTS',
      'WATCHES',
      'NODES',
    ],
    servers.map((each) => [
      each.server,
      modeText(each.mode, style),
      cell(each.requestsPerSecond),
      cell(each.lag),
      roundMs(each.latencyMs),
      roundMs(each.syncMs),
      cell(each.outstanding),
      cell(each.connections),
      cell(each.watches),
      cell(each.nodes),
    ]),
    style,
  )
  const clientTable = formatTable(
    ['CLIENT', 'SERVER', 'SESSION', 'REQ/S', 'LATENCY(ms)', 'QUEUED', 'LAST'],
    clients.map((each) => [
      each.client,
      each.server,
      each.session ?? undefined,
      each.requestsPerSecond,
      roundMs(each.latencyMs),
      each.queued,
      each.lastOperation ?? undefined,
    ]),
    style,
  )
  const text = clients.length === 0 ? serverTable : `${serverTable}\n${clientTable}`
  return text.trimEnd().split('\n')
}
