import { connect } from 'node:net'
import { everyAddress, type ServerSpec } from '@zabra/core'
import { serverState } from '../view/server-state.ts'
import { versionText } from '../view/version.ts'
import type { ServerView } from '../view/server-view.ts'
import { array, boolean, choice, integer, nullable, number, object, text } from './schema.ts'
import { hex } from './shapes.ts'

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
  version: nullable(text),
})

/** What is known about a server; null if unknown. */
interface Numbers {
  readonly role: string | null
  readonly zxid: bigint | null
  readonly connections: number | null
  readonly outstanding: number | null
  readonly meanLatencyMs: number | null
  readonly maxLatencyMs: number | null
  readonly syncMs: number | null
  readonly znodes: number | null
  readonly version: string | null
}

type State = 'serving' | 'notServing' | 'unreachable' | 'unknown'
interface Looked {
  readonly state: State
  readonly numbers: Numbers
}

const nothing: Numbers = {
  role: null,
  zxid: null,
  connections: null,
  outstanding: null,
  meanLatencyMs: null,
  maxLatencyMs: null,
  syncMs: null,
  znodes: null,
  version: null,
}

/**
 * All servers: this one by its own numbers, the others by four-letter words on their client port.
 */
export async function members(view: ServerView): Promise<object> {
  const { ensemble } = view
  if (ensemble === undefined) {
    const own = { addresses: [], role: 'participant', client: undefined } as const
    const { clientPort, config } = view
    const client = { host: config.clientPortAddress ?? everyAddress, port: clientPort }
    return {
      mode: 'standalone',
      self: '0',
      leader: null,
      configVersion: null,
      members: [
        memberJson('0', { ...own, client, secureClient: undefined }, true, ownNumbers(view)),
      ],
    }
  }
  const { config, membership, stats } = ensemble
  const self = BigInt(config.serverId)
  const looked = await Promise.all(
    [...membership.servers].map(async ([id, spec]) => {
      const found = id === self ? ownNumbers(view) : await lookAt(spec)
      return { id, spec, found }
    }),
  )
  const ahead = looked.find(({ id }) => id === stats.leader)?.found.numbers.zxid ?? undefined
  return {
    mode: 'ensemble',
    self: String(self),
    leader: stats.leader === undefined ? null : String(stats.leader),
    configVersion: hex(membership.version),
    members: looked.map(({ id, spec, found }) =>
      memberJson(String(id), spec, id === self, found, ahead),
    ),
  }
}

function memberJson(
  id: string,
  spec: ServerSpec,
  isSelf: boolean,
  { state, numbers }: Looked,
  leaderZxid: bigint | undefined = numbers.zxid ?? undefined,
): object {
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
    // Transactions applied while the others were asked do not count as lag.
    lag: isSameEpoch ? Math.max(0, Number(leaderZxid! - zxid)) : null,
  }
}

const epochOf = (zxid: bigint): bigint => BigInt.asUintN(64, zxid) >> epochBits

function ownNumbers(view: ServerView): Looked {
  const { peer, disk } = view
  const { latency } = peer.stats
  return {
    state: peer.isServing ? 'serving' : 'notServing',
    numbers: {
      role: serverState(view),
      zxid: peer.lastZxid,
      connections: view.sockets.size,
      outstanding: peer.outstandingRequests,
      meanLatencyMs: rounded(latency.mean),
      maxLatencyMs: latency.max,
      syncMs: rounded(disk.syncMs.mean),
      znodes: peer.db.tree.size,
      version: versionText,
    },
  }
}

/** Another server, by the answers on its client port. */
export async function lookAt({ client, addresses }: ServerSpec): Promise<Looked> {
  if (client === undefined) return { state: 'unknown', numbers: nothing }
  const { port } = client
  const isEvery = client.host === undefined || /^(?:0\.0\.0\.0|::)$/.test(client.host)
  const host = isEvery ? addresses[0]?.host : client.host
  if (host === undefined) return { state: 'unknown', numbers: nothing }
  const [srvr, mntr] = await Promise.all([askWord(host, port, 'srvr'), askWord(host, port, 'mntr')])
  if (srvr === undefined) return { state: 'unreachable', numbers: nothing }
  const numbers = numbersIn(srvr, mntr ?? '')
  return { state: numbers.zxid === null ? 'notServing' : 'serving', numbers }
}

/** Parses the answers of a server, zabra's or Apache's. */
function numbersIn(srvr: string, mntr: string): Numbers {
  const line = (name: string): string | undefined =>
    new RegExp(`^${name}: *(.*)$`, 'm').exec(srvr)?.[1]?.trim()
  const numberOf = (given: string | undefined): number | null =>
    given !== undefined && /^-?\d+(\.\d+)?$/.test(given) ? Number(given) : null
  const [, mean, max] = line('Latency min/avg/max')?.split('/') ?? []
  const zxid = line('Zxid')
  const sync = /^zk_avg_fsynctime\s+(\S+)$/m.exec(mntr)?.[1]
  return {
    role: line('Mode') ?? null,
    zxid: zxid !== undefined && /^0x[0-9a-f]{1,16}$/.test(zxid) ? BigInt(zxid) : null,
    connections: numberOf(line('Connections')),
    outstanding: numberOf(line('Outstanding')),
    meanLatencyMs: numberOf(mean),
    maxLatencyMs: numberOf(max),
    syncMs: numberOf(sync),
    znodes: numberOf(line('Node count')),
    version: line('Zookeeper version') ?? null,
  }
}

/** The answer of a server to a four-letter word; undefined if it does not come in time. */
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
