/** One server of an ensemble under test, and the other side of its connection played by hand. */
import {
  encodePacket,
  packetTypes,
  PacketReader,
  TxnHeader,
  Writer,
  writeTxnBody,
  type PacketName,
  type Txn,
} from '@zabra/protocol'
import { Database } from '../../src/state/database.ts'
import { ClientPipeline } from '../../src/service/client-pipeline.ts'
import type { Clock } from '../../src/service/pipeline-options.ts'
import { Proposer } from '../../src/service/proposer.ts'
import type { Host } from '../../src/ports.ts'
import { apachePasswords } from '../../src/service/sessions/password.ts'
import { SessionIds } from '../../src/service/sessions/session-ids.ts'
import { Batches } from '../../src/storage/log/log-batch.ts'
import { MemoryDisk } from '../../src/storage/disk/memory-disk.ts'
import { MembershipState } from '../../src/membership/membership-state.ts'
import { Epochs } from '../../src/storage/epochs.ts'
import type { LeadingParts } from '../../src/peer/leading.ts'
import type { Membership } from '../../src/membership/membership.ts'
import { parseServerSpec } from '../../src/membership/server-spec.ts'
import { PacketLink } from '../../src/peer/links/packet-link.ts'

const names = new Map(Object.entries(packetTypes).map(([name, type]) => [type as number, name]))

/** `epoch.counter`. */
export const show = (zxid: bigint): string =>
  zxid < 0n ? String(zxid) : `${zxid >> 32n}.${zxid & 0xffffffffn}`

export const zxidOf = (text: string): bigint => {
  const [epoch, counter] = text.split('.').map(BigInt)
  return (epoch! << 32n) | counter!
}

/** The other end of a link: sends what a test wants, and records what it receives. */
export class Puppet {
  readonly link: PacketLink
  isClosed = false
  private readonly reader = new PacketReader()

  constructor(nowMs = 0) {
    const wire = { flushSoon() {}, unsentBytes: 0, close: () => (this.isClosed = true) }
    this.link = new PacketLink(wire, nowMs)
  }

  async say(
    name: PacketName,
    zxid: bigint | string,
    data: Uint8Array | null = null,
  ): Promise<void> {
    const number = typeof zxid === 'string' ? zxidOf(zxid) : zxid
    this.link.received(encodePacket(name, number, data), 0)
    await settled()
  }

  async sayRaw(bytes: Uint8Array): Promise<void> {
    this.link.received(bytes, 0)
    await settled()
  }

  /** The messages since the last call, each as `name zxid`. */
  async heard(): Promise<string[]> {
    await settled()
    const { out } = this.link
    this.reader.push(out.written())
    out.reset()
    const packets: string[] = []
    for (let packet = this.reader.next(); packet !== undefined; packet = this.reader.next()) {
      packets.push(`${names.get(packet.type)} ${show(packet.zxid)}`)
    }
    return packets
  }

  /** Passes over everything to the end of the snapshot that was sent. */
  skipSnapshot(): void {
    const { out } = this.link
    this.reader.push(out.written())
    out.reset()
    while (this.reader.next()?.type !== packetTypes.snap);
    const raw = Buffer.from(this.reader.takeRaw())
    const end = raw.indexOf('BenWasHere') + 'BenWasHere'.length
    this.reader.unread(new Uint8Array(raw.subarray(end)))
  }
}

/** Everything that follows without time passing. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve)
    })
  }
}

/** A transaction as it travels: the creation of a session, where nothing else is said. */
export function payloadOf(
  zxid: bigint | string,
  txn: Txn = { type: -10, body: { timeOut: 4000 } },
): Uint8Array {
  const number = typeof zxid === 'string' ? zxidOf(zxid) : zxid
  const writer = new Writer(256)
  const header = { clientId: 0x77n, cxid: 0, zxid: number, time: 1n, type: txn.type }
  TxnHeader.write(writer, header)
  writeTxnBody(writer, txn)
  return new Uint8Array(writer.written())
}

export function int(value: number): Uint8Array {
  const writer = new Writer(4)
  writer.int(value)
  return new Uint8Array(writer.written())
}

/** Time stands still unless somebody moves it; what is waited for is waited for in vain. */
class StillHost implements Host {
  nowMs = 0
  private readonly waiting = new Set<{ atMs: number; resolve: () => void }>()

  monotonicMs(): number {
    return this.nowMs
  }

  wallMs(): number {
    return this.nowMs
  }

  random(): number {
    return 0.5
  }

  delay(ms: number): ReturnType<Host['delay']> {
    let cut!: () => void
    const done = new Promise<void>((resolve) => {
      const timer = { atMs: this.nowMs + ms, resolve }
      this.waiting.add(timer)
      cut = () => {
        this.waiting.delete(timer)
        resolve()
      }
    })
    return { done, cut }
  }

  async pass(ms: number): Promise<void> {
    this.nowMs += ms
    for (const timer of this.waiting) {
      if (timer.atMs > this.nowMs) continue
      this.waiting.delete(timer)
      timer.resolve()
    }
    await settled()
  }
}

/** A database, its clients and its epochs: what leader and learner are given. */
export interface TestParts {
  readonly db: Database
  readonly pipeline: ClientPipeline
  readonly epochs: Epochs
  readonly host: StillHost
  readonly disk: MemoryDisk
  readonly clock: Clock
}

export const directory = 'data/version-2'

/** These as voters, in the configuration of a version. */
export function membersOf(ids: readonly bigint[], version = 0n): Membership {
  const spec = parseServerSpec('host:1:2')
  if ('problem' in spec) throw new Error(spec.problem)
  const servers = new Map(ids.map((id) => [id, spec.value] as const))
  return { version, servers, hierarchy: undefined }
}

/** Three voters and an observer, that stay what they are unless it is said otherwise. */
export function threeMembers(isEnabled = false): MembershipState {
  const { servers, ...rest } = membersOf([1n, 2n, 3n])
  const observer = { ...servers.get(1n)!, role: 'observer' } as const
  const all = new Map([...servers, [4n, observer] as const])
  return new MembershipState({ ...rest, servers: all }, { isEnabled })
}

export async function makeParts(lastZxid: string, accepted: bigint): Promise<TestParts> {
  const db = new Database({
    extendedTypes: true,
    digests: false,
    hashSeed: 1,
    acl: { skipAcl: false, schemes: new Set() },
  })
  db.createSystemNodes()
  db.advance(zxidOf(lastZxid))
  const clock = { nowMs: 0, wallMs: 0 }
  const pipeline = new ClientPipeline(
    {
      db,
      clock,
      authenticator: { schemes: new Set(), authenticate: () => undefined },
      trace: () => {},
      sessionIds: new SessionIds(1, 0),
      passwords: apachePasswords,
    },
    {
      sessionTimeoutMsMin: 1000,
      sessionTimeoutMsMax: 10_000,
      outstandingMax: 1000,
      frameBytesMax: 1024 * 1024,
      sessionlessTimeoutMs: 10_000,
      requiredSchemes: [],
    },
  )
  const disk = new MemoryDisk({ forgetful: true })
  await disk.makeDirectory(directory)
  const epochs = await Epochs.load(disk, directory, db.lastZxid)
  if (accepted > epochs.accepted) await epochs.setAccepted(accepted)
  return { db, pipeline, epochs, host: new StillHost(), disk, clock }
}

/** Serves as a leader does, into a batch that nobody writes. */
export function serveWith({ pipeline, clock }: TestParts): LeadingParts['serve'] {
  const batches = new Batches(pipeline.db.memory)
  return (from) =>
    new Proposer(
      { pipeline, clock, trace: () => {}, batches, ...from },
      {
        tickMs: 1000,
        rules: { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true },
        reclaim: { checkIntervalMs: 60_000, perMinuteMax: 10_000, neverUsedMsMax: 0 },
      },
    )
}
