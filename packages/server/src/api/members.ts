import { connect } from 'node:net'
import { everyAddress, hex, verifierOf, type ServerSpec } from '@zabra/core'
import { nodeCount, serverState, uptimeMs } from '../view/server-state.ts'
import { versionText } from '../view/version.ts'
import { failuresLeft } from './failures-left.ts'
import type { ServerView } from '../view/server-view.ts'
import { array, boolean, choice, integer, nullable, number, object, text } from './schema.ts'

const wordMs = 1_000
const wordBytesMax = 256 * 1024
const epochBits = 32n

export const memberSchema = object({
  id: text,
  isSelf: boolean,
  votes: boolean,
  addresses: array(text),
  client: nullable(text),
  state: choice('serving', 'notServing', 'unreachable', 'unknown'),
  role: nullable(text),
  zxid: nullable(text),
  epoch: nullable(integer),
  lag: nullable(integer),
  connections: nullable(integer),
  outstanding: nullable(integer),
  meanLatencyMs: nullable(number),
  maxLatencyMs: nullable(number),
  syncMs: nullable(number),
  znodes: nullable(integer),
  dataBytes: nullable(integer),
  diskBytes: nullable(integer),
  watches: nullable(integer),
  uptimeMs: nullable(integer),
  version: nullable(text),
  admin: { ...nullable(text), description: 'Host and port of its console and API' },
})

/** The known state of a server; null if unknown. */
interface Numbers {
  readonly role: string | null
  readonly zxid: bigint | null
  readonly connections: number | null
  readonly outstanding: number | null
  readonly meanLatencyMs: number | null
  readonly maxLatencyMs: number | null
  readonly syncMs: number | null
  readonly znodes: number | null
  readonly dataBytes: number | null
  readonly diskBytes: number | null
  readonly watches: number | null
  readonly uptimeMs: number | null
  readonly version: string | null
}

type State = 'serving' | 'notServing' | 'unreachable' | 'unknown'
interface Looked {
  readonly state: State
  readonly numbers: Numbers
  /** The port of its console; undefined if it did not report one. */
  readonly adminPort?: number | undefined
  /** Whether it answered everything that it was asked, in time. */
  readonly isComplete: boolean
}

const noNumbers: Numbers = {
  role: null,
  zxid: null,
  connections: null,
  outstanding: null,
  meanLatencyMs: null,
  maxLatencyMs: null,
  syncMs: null,
  znodes: null,
  dataBytes: null,
  diskBytes: null,
  watches: null,
  uptimeMs: null,
  version: null,
}

/** All servers: this one by its own numbers, the others by their four-letter words. */
export async function members(view: ServerView): Promise<EnsembleJson> {
  const { ensemble } = view
  if (ensemble === undefined) {
    const own = { addresses: [], role: 'participant', client: undefined } as const
    const { clientPort, config } = view
    const client = { host: config.clientPortAddress ?? everyAddress, port: clientPort }
    const spec = { ...own, client, secureClient: undefined }
    return {
      mode: 'standalone',
      self: '0',
      leader: null,
      configVersion: null,
      failuresLeft: null,
      members: [memberJson(view, '0', spec, true, await ownNumbers(view))],
    }
  }
  const { config, membership, stats } = ensemble
  const self = BigInt(config.serverId)
  const looked = await lookAtAll(view)
  const voting = looked.filter(({ spec }) => spec.role === 'participant')
  const serving = voting.filter(({ found }) => found.state === 'serving')
  const isAnyUnknown = voting.some(({ found }) => found.state === 'unknown')
  const verifier = verifierOf(membership)
  const ahead = looked.find(({ id }) => id === stats.leader)?.found.numbers.zxid ?? undefined
  return {
    mode: 'ensemble',
    self: String(self),
    leader: stats.leader === undefined ? null : String(stats.leader),
    configVersion: hex(membership.version),
    failuresLeft: isAnyUnknown
      ? null
      : failuresLeft(
          serving.map(({ id }) => id),
          (ids) => verifier.isQuorum(ids),
        ),
    members: looked.map(({ id, spec, found }) =>
      memberJson(view, String(id), spec, id === self, found, ahead),
    ),
  }
}

interface EnsembleJson {
  readonly mode: 'standalone' | 'ensemble'
  readonly self: string
  readonly leader: string | null
  readonly configVersion: string | null
  /** See `failuresLeft`; null without a quorum, if a server cannot be asked, and for a standalone server. */
  readonly failuresLeft: number | null
  readonly members: readonly MemberJson[]
}

export type MemberJson = ReturnType<typeof memberJson>

/** The console of another member. */
export interface MemberConsole {
  /** Host and port. */
  readonly host: string
  /** Whether it answers now; otherwise its port may be a guess. */
  readonly isReached: boolean
}

/** The consoles of the other members, by server id. */
export async function consolesOf(view: ServerView): Promise<Map<bigint, MemberConsole>> {
  const looked = await lookAtAll(view)
  return new Map(
    looked.flatMap(({ id, spec, isSelf, found: { state, adminPort, isComplete } }) => {
      const host = adminHost(view, spec, isSelf, adminPort)
      const isReached = state !== 'unreachable' && isComplete
      return isSelf || host === null ? [] : [[id, { host, isReached }] as const]
    }),
  )
}

/** All members of the ensemble; none of a standalone server. */
async function lookAtAll(view: ServerView) {
  const { ensemble } = view
  if (ensemble === undefined) return []
  const self = BigInt(ensemble.config.serverId)
  return Promise.all(
    [...ensemble.membership.servers].map(async ([id, spec]) => {
      const isSelf = id === self
      return { id, spec, isSelf, found: isSelf ? await ownNumbers(view) : await lookAt(spec) }
    }),
  )
}

function memberJson(
  view: ServerView,
  id: string,
  spec: ServerSpec,
  isSelf: boolean,
  { state, numbers, adminPort }: Looked,
  leaderZxid: bigint | undefined = numbers.zxid ?? undefined,
) {
  const { zxid } = numbers
  const { client, addresses } = spec
  const isSameEpoch =
    zxid !== null && leaderZxid !== undefined && epochOf(zxid) === epochOf(leaderZxid)
  return {
    id,
    isSelf,
    votes: spec.role === 'participant',
    addresses: addresses.map(({ host, quorumPort }) => `${host}:${quorumPort}`),
    client: client === undefined ? null : `${client.host ?? everyAddress}:${client.port}`,
    state,
    ...numbers,
    zxid: zxid === null ? null : hex(zxid),
    epoch: zxid === null ? null : Number(epochOf(zxid)),
    // Transactions applied while the others were being asked do not count as lag.
    lag: isSameEpoch ? Math.max(0, Number(leaderZxid! - zxid)) : null,
    admin: adminHost(view, spec, isSelf, adminPort),
  }
}

const epochOf = (zxid: bigint): bigint => BigInt.asUintN(64, zxid) >> epochBits

/**
 * The address of a member's console. If the member does not report it, its port is probably ours.
 */
function adminHost(
  view: ServerView,
  spec: ServerSpec,
  isSelf: boolean,
  adminPort: number | undefined,
): string | null {
  const own = view.adminPort
  const port = isSelf ? own : (adminPort ?? own)
  const host = isSelf ? (spec.addresses[0]?.host ?? '127.0.0.1') : hostOf(spec)
  if (port === undefined || port === 0 || host === undefined) return null
  return `${bracketed(host)}:${port}`
}

/** A host as it is before a port. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

async function ownNumbers(view: ServerView): Promise<Looked> {
  const { peer, disk } = view
  const { latency } = peer.stats
  const { data, log } = view.directories
  const sizes = await view.directorySizes().catch(() => undefined)
  return {
    state: peer.isServing ? 'serving' : 'notServing',
    isComplete: true,
    numbers: {
      role: serverState(view),
      zxid: peer.lastZxid,
      connections: view.sockets.size,
      outstanding: peer.outstandingRequests,
      meanLatencyMs: rounded(latency.mean),
      maxLatencyMs: latency.max,
      syncMs: rounded(disk.syncMs.mean),
      znodes: nodeCount(view),
      // As mntr counts them: with the path of the root.
      dataBytes: peer.db.tree.dataBytes + 1,
      diskBytes: sizes === undefined ? null : sizes.data + (data === log ? 0 : sizes.log),
      watches: peer.db.watches.count,
      uptimeMs: uptimeMs(view),
      version: versionText,
    },
  }
}

/** Where the client port and the admin port of a member are. */
export function hostOf({ client, addresses }: ServerSpec): string | undefined {
  const isEvery = client?.host === undefined || /^(?:0\.0\.0\.0|::)$/.test(client.host)
  return isEvery ? addresses[0]?.host : client.host
}

/** Asks another server by four-letter words on its client port. */
export async function lookAt(spec: ServerSpec): Promise<Looked> {
  const { client } = spec
  const host = hostOf(spec)
  if (client === undefined || host === undefined)
    return { state: 'unknown', numbers: noNumbers, isComplete: true }
  // First by itself: it counts connections, this one included.
  const srvr = await askWord(host, client.port, 'srvr')
  if (srvr === undefined) return { state: 'unreachable', numbers: noNumbers, isComplete: false }
  const [mntr, dirs] = await Promise.all(
    ['mntr', 'dirs'].map((word) => askWord(host, client.port, word)),
  )
  const numbers = numbersIn(srvr, mntr ?? '', dirs ?? '')
  const adminPort = numberAt(mntr ?? '', 'zk_admin_port') ?? undefined
  const state = numbers.zxid === null ? 'notServing' : 'serving'
  return { state, numbers, adminPort, isComplete: mntr !== undefined }
}

/** The numbers in the answers of a zabra or Apache server. */
function numbersIn(srvr: string, mntr: string, dirs: string): Numbers {
  const line = (name: string): string | undefined =>
    new RegExp(`^${name}: *(.*)$`, 'm').exec(srvr)?.[1]?.trim()
  const numberOf = (given: string | undefined): number | null =>
    given !== undefined && /^-?\d+(\.\d+)?$/.test(given) ? Number(given) : null
  const [, mean, max] = line('Latency min/avg/max')?.split('/') ?? []
  const zxid = line('Zxid')
  const connections = numberOf(line('Connections'))
  const [dataDir, logDir] = ['datadir_size', 'logdir_size'].map(
    (name) => new RegExp(`^${name}: *(\\d+)$`, 'm').exec(dirs)?.[1],
  )
  return {
    role: line('Mode') ?? null,
    zxid: zxid !== undefined && /^0x[0-9a-f]{1,16}$/.test(zxid) ? BigInt(zxid) : null,
    connections: connections === null ? null : Math.max(0, connections - 1),
    outstanding: numberOf(line('Outstanding')),
    meanLatencyMs: numberOf(mean),
    maxLatencyMs: numberOf(max),
    syncMs: numberAt(mntr, 'zk_avg_fsynctime'),
    znodes: numberOf(line('Node count')),
    dataBytes: numberAt(mntr, 'zk_approximate_data_size'),
    diskBytes: dataDir === undefined ? null : Number(dataDir) + Number(logDir ?? 0),
    watches: numberAt(mntr, 'zk_watch_count'),
    uptimeMs: numberAt(mntr, 'zk_uptime'),
    version: line('Zookeeper version') ?? null,
  }
}

function numberAt(mntr: string, name: string): number | null {
  const found = new RegExp(`^${name}\\s+(-?\\d+(?:\\.\\d+)?)$`, 'm').exec(mntr)?.[1]
  return found === undefined ? null : Number(found)
}

/** The answer to a four-letter word; undefined if there is none in time. */
function askWord(host: string, port: number, word: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const pieces: Buffer[] = []
    let length = 0
    const impatience = setTimeout(() => socket.destroy(), wordMs)
    socket.on('connect', () => socket.write(word))
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece)
      length += piece.length
      if (length > wordBytesMax) socket.destroy()
    })
    socket.on('error', () => {}) // 'close' follows.
    socket.on('close', () => {
      clearTimeout(impatience)
      resolve(length === 0 ? undefined : Buffer.concat(pieces).toString())
    })
  })
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
