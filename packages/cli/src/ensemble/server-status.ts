import { askWord, NotListedError, type AskOptions } from './four-letter.ts'
import { addressText } from './address.ts'
import type { Member } from './members.ts'

export type Mode = 'leader' | 'follower' | 'observer' | 'standalone' | 'read-only'

/** The status that a server reports. */
export interface ServerStatus {
  readonly mode: Mode
  /** Of ZooKeeper; for zabra, the release that it stands for. */
  readonly version: string
  /** Undefined for a server of Apache. */
  readonly zabraVersion: string | undefined
  readonly zxid: bigint
  readonly connections: number
  readonly nodes: number
  readonly outstanding: number
  readonly latencyMs: { readonly average: number; readonly max: number }
  readonly received: number
  readonly sent: number
  /** The answer of `mntr` by name, without `zk_`; undefined where the word is not listed. */
  readonly metrics: ReadonlyMap<string, number> | undefined
}

export type Answered =
  | { readonly member: Member; readonly status: ServerStatus; readonly problem: undefined }
  | { readonly member: Member; readonly status: undefined; readonly problem: string }

/** Asks every member at once. A member that does not answer is part of the result. */
export function askMembers(members: readonly Member[], options: AskOptions): Promise<Answered[]> {
  return Promise.all(
    members.map(async (member): Promise<Answered> => {
      if (member.client === undefined)
        return { member, status: undefined, problem: 'its configuration names no client port' }
      try {
        return { member, status: await askServer(member.client, options), problem: undefined }
      } catch (error) {
        options.signal?.throwIfAborted()
        const prefix = `${addressText(member.client)}: `
        const { message } = error as Error
        const problem = message.startsWith(prefix) ? message.slice(prefix.length) : message
        return { member, status: undefined, problem }
      }
    }),
  )
}

async function askServer(
  address: NonNullable<Member['client']>,
  options: AskOptions,
): Promise<ServerStatus> {
  const [text, metrics] = await Promise.all([
    askWord(address, 'srvr', options),
    askWord(address, 'mntr', options).catch((error: unknown) => {
      if (error instanceof NotListedError) return undefined
      throw error
    }),
  ])
  const status = parseStatus(text, metrics)
  if (status === undefined) throw new Error(text.trim().split('\n')[0])
  return status
}

/** Reads the answers of `srvr` and `mntr`; undefined for a server that does not serve. */
export function parseStatus(srvr: string, mntr: string | undefined): ServerStatus | undefined {
  const field = (name: string): string | undefined =>
    new RegExp(`^${name}: (.*)$`, 'm').exec(srvr)?.[1]
  const mode = field('Mode')
  const zxid = field('Zxid')
  if (mode === undefined || zxid === undefined) return undefined
  const version = field('Zookeeper version')?.split(',')[0] ?? ''
  const [, average = '0', max = '0'] =
    /^[\d.]+\/([\d.]+)\/([\d.]+)$/.exec(field('Latency min/avg/max') ?? '') ?? []
  return {
    mode: mode as Mode,
    version: version.split('-')[0]!,
    zabraVersion: /-zabra-(.+)$/.exec(version)?.[1],
    zxid: BigInt(zxid),
    connections: Number(field('Connections') ?? 0),
    nodes: Number(field('Node count') ?? 0),
    outstanding: Number(field('Outstanding') ?? 0),
    latencyMs: { average: Number(average), max: Number(max) },
    received: Number(field('Received') ?? 0),
    sent: Number(field('Sent') ?? 0),
    metrics: mntr === undefined ? undefined : parseMetrics(mntr),
  }
}

/** `zabra 0.1.0`, or the version of Apache's server. */
export function releaseText({ version, zabraVersion }: ServerStatus): string {
  return zabraVersion === undefined ? version : `zabra ${zabraVersion}`
}

function parseMetrics(text: string): ReadonlyMap<string, number> {
  const metrics = new Map<string, number>()
  for (const line of text.split('\n')) {
    const [name, value] = line.split('\t')
    const number = Number(value)
    if (name?.startsWith('zk_') === true && value !== undefined && !Number.isNaN(number))
      metrics.set(name.slice('zk_'.length), number)
  }
  return metrics
}

/** The epoch and the counter of a zxid. */
export function partsOf(zxid: bigint): { readonly epoch: number; readonly counter: number } {
  return { epoch: Number(zxid >> 32n), counter: Number(zxid & 0xffffffffn) }
}

/** How many transactions a server is behind; undefined across epochs, where counters restart. */
export function lagBehind(newest: bigint, zxid: bigint): number | undefined {
  return newest >> 32n === zxid >> 32n ? Number(newest - zxid) : undefined
}
