/** Records what the servers of an ensemble did together: leaders, and the fate of proposals. */
import {
  formatMembership,
  sameMembership,
  type Epochs,
  type Membership,
  type ServerId,
  type ZabEvent,
} from '@zabra/core'
import { Reader, TxnHeader } from '@zabra/protocol'
import type { SimServer } from '../cluster/server.ts'
import { isEnough } from '../cluster/shape.ts'
import { serverName } from '../cluster/sim-peer-network.ts'
import { Promises } from './promises.ts'
import type { Recorder } from './recorder.ts'
import { Snapshots } from './snapshots.ts'
import { counterOf, epochOf, epochStart, follows, hex } from './zxids.ts'

/** An established epoch, and the end of the history that it continues. */
interface Reign {
  readonly leader: string
  readonly base: bigint
}

interface Claim {
  readonly epoch: bigint
  readonly zxid: bigint
}

const reconfigType = 16

/** Errors that one server reports about another; correct servers never cause them. */
const accusations = /something is missing|not the next proposal|only of what is committed/

export class EnsembleRecord {
  /** The memory of a server was changed, so digests may differ for a while. */
  treesMayDiffer = false
  /** A leader has sent its wrong tree to another server, which had nothing to compare it with. */
  wrongTreeWasSent = false
  readonly promises: Promises
  readonly snapshots: Snapshots
  /** The initial configuration. */
  readonly membership: Membership
  /** Configurations that any server considered committed, by version, oldest first. */
  private readonly configs = new Map<bigint, Membership>()
  /** The transactions that change the members, committed or not. */
  private readonly changes = new Set<bigint>()
  /** The version of the configuration that each server uses in its present life. */
  private readonly versions = new Map<string, bigint>()
  /** Every transaction that a server applied as committed, and the first server to do so. */
  readonly delivered = new Map<bigint, string>()
  private readonly reigns = new Map<bigint, Reign>()
  private readonly recorder: Recorder
  /** The last transaction that each server delivered in its present role. */
  private readonly last = new Map<string, bigint>()
  /** The end and epoch of the history of each elected server. */
  private readonly bases = new Map<string, bigint>()
  private readonly basesOf = new Map<string, bigint>()
  /** The history that each server claimed when it promised an epoch. */
  private readonly promised = new Map<bigint, Map<string, Claim>>()
  private readonly known = new Map<string, { accepted: bigint; current: bigint }>()
  /** How far the log of each server is durable. */
  private readonly durable = new Map<string, bigint>()
  /** How far the disks reached that were replaced by empty ones. */
  private readonly lost = new Map<string, bigint>()
  /**
   * The servers that entered an epoch, with the end of their history on disk once that is known.
   */
  private readonly members = new Map<bigint, Map<string, bigint | undefined>>()
  private readonly plans = new Map<string, string>()
  /** The digest of the tree after each delivered transaction, and the server that computed it. */
  private readonly digests = new Map<bigint, { digest: bigint; server: string }>()

  constructor(recorder: Recorder, membership: Membership) {
    this.recorder = recorder
    this.membership = membership
    this.configs.set(0n, membership)
    this.promises = new Promises(recorder, this)
    this.snapshots = new Snapshots(recorder, this)
  }

  /** A life begins: its epochs must be consistent, and not older than in an earlier life. */
  epochs(server: string, { accepted, current }: Epochs, lastZxid: bigint): void {
    const logged = epochOf(lastZxid)
    if (logged > current || current > accepted) {
      this.recorder.violation(
        `${server} starts with epochs ${logged} logged, ${current} current, ${accepted} accepted`,
      )
    }
    const before = this.known.get(server)
    if (before !== undefined && (accepted < before.accepted || current < before.current)) {
      this.recorder.violation(
        `${server} starts with epochs ${current} and ${accepted} after ${before.current} and ${before.accepted}`,
      )
    }
    this.known.set(server, { accepted, current })
    this.versions.delete(server)
    this.durable.set(server, lastZxid)
  }

  /** The disk was replaced by an empty one: the server has promised nothing. */
  forget(server: SimServer): void {
    this.known.delete(server.name)
    this.lost.set(server.name, this.durableOf(server.name))
    this.durable.delete(server.name)
    this.promises.forget(server)
    for (const [epoch, members] of this.members) {
      if (!this.reigns.has(epoch)) members.delete(server.name)
    }
  }

  /** How a server was last synchronized with its leader. */
  planFor(server: string): string | undefined {
    return this.plans.get(server)
  }

  logged(server: string, zxid: bigint, isReplaced: boolean): void {
    if (!isReplaced || zxid < this.durableOf(server)) this.durable.set(server, zxid)
  }

  durableOf(server: string): bigint {
    return this.durable.get(server) ?? 0n
  }

  /** A server records on its disk that it holds the history of an epoch. */
  entered(server: string, epoch: bigint, zxid: Promise<bigint | undefined>): void {
    let members = this.members.get(epoch)
    if (members === undefined) this.members.set(epoch, (members = new Map()))
    members.set(server, undefined)
    void zxid.then((held) => {
      members.set(server, held)
      const reign = this.reigns.get(epoch)
      if (reign !== undefined) this.checkMember(server, held, epoch, reign)
    })
  }

  private checkMember(
    server: string,
    zxid: bigint | undefined,
    epoch: bigint,
    { base }: Reign,
  ): void {
    const needed = this.lastTransaction(base)
    if (zxid === undefined || zxid >= needed) return
    this.recorder.violation(
      `${server} enters epoch ${epoch}, which begins after ${hex(needed)}, with ${hex(zxid)} on disk`,
    )
  }

  /** The end of an epoch without transactions is the end of the one before. */
  private lastTransaction(zxid: bigint): bigint {
    let last = zxid
    while (last > 0n && counterOf(last) === 0n) last = this.baseOf(last) ?? 0n
    return last
  }

  /**
   * The end of the history that the epoch of this zxid continues. An epoch that was never
   * established has no transactions, but a server that was sent its leader's tree has its start as
   * its zxid.
   */
  private baseOf(zxid: bigint): bigint | undefined {
    const epoch = epochOf(zxid)
    const reign = this.reigns.get(epoch)
    if (reign !== undefined || counterOf(zxid) > 0n) return reign?.base
    let base: bigint | undefined
    for (const held of this.members.get(epoch)?.values() ?? []) {
      if (held !== undefined && epochOf(held) < epoch && held > (base ?? -1n)) base = held
    }
    return base
  }

  private idsOf(names: Iterable<string>): Set<ServerId> {
    return new Set([...names].map((name) => BigInt(name.replace(serverName(0n).slice(0, -1), ''))))
  }

  /** The newest configuration known to be committed. */
  get config(): Membership {
    return [...this.configs.values()].at(-1)!
  }

  /** No logged change of members is newer than what is committed. */
  get isSettled(): boolean {
    const { version } = this.config
    return [...this.changes].every((zxid) => zxid <= version)
  }

  /** The configuration that decides about transactions after this one. */
  private configAt(zxid: bigint): Membership {
    const versions = [...this.configs.keys()].filter((version) => version <= zxid)
    return this.configs.get(versions.at(-1)!)!
  }

  /** A server starts to use another configuration. */
  activated(server: string, config: Membership): void {
    const { version } = config
    const own = this.versions.get(server) ?? 0n
    if (version < own) {
      this.recorder.violation(`${server} goes back from ${hex(own)} to ${hex(version)}`)
    }
    this.versions.set(server, version)
    const known = this.configs.get(version)
    if (known !== undefined) {
      if (formatMembership(known) === formatMembership(config)) return
      this.recorder.violation(`${server} takes another configuration for ${hex(version)}`)
      return
    }
    const before = this.config
    if (version <= before.version) {
      this.recorder.violation(`${server} goes by ${hex(version)} after ${hex(before.version)}`)
      return
    }
    this.configs.set(version, config)
    this.recorder.count('configurations')
    if (counterOf(version) === 0n) {
      if (sameMembership(before, config)) return
      this.recorder.violation(`${server} makes up the members of ${hex(version)}`)
      return
    }
    // A server that entered a later epoch has everything before it, perhaps as a snapshot.
    const later = [...this.members].filter(([epoch]) => epoch > epochOf(version))
    const entered = later.flatMap(([, members]) => [...members.keys()])
    const holders = [...new Set([...this.holdersOf(version), ...entered])]
    if (isEnough(before, this.idsOf(holders)) && isEnough(config, this.idsOf(holders))) return
    this.recorder.violation(
      `${server} goes by ${hex(version)}, which only [${holders.join()}] have on disk`,
    )
  }

  private holdersOf(zxid: bigint): string[] {
    // Acknowledgements from before a lost disk count: all others had the data by then.
    const holding = [...this.durable, ...this.lost].filter(([, durable]) => durable >= zxid)
    return [...new Set(holding.map(([name]) => name))]
  }

  /** A server promises an epoch to its leader; it must not have promised it before. */
  claimed(server: string, epoch: bigint, claim: Claim): void {
    const promised = this.promised.get(epoch) ?? new Map<string, Claim>()
    this.promised.set(epoch, promised.set(server, claim))
  }

  zab(server: string, event: ZabEvent, lastZxid: bigint, currentEpoch: bigint): void {
    if (event.type === 'elected' || event.type === 'appointed') {
      this.bases.set(server, lastZxid)
      this.basesOf.set(server, currentEpoch)
    }
    if (event.type === 'looking' || event.type === 'appointed') this.last.delete(server)
    if (event.type === 'roleEnded' && accusations.test(event.reason)) {
      this.recorder.violation(`${server} finds that its leader is wrong: ${event.reason}`)
    }
    if (event.type === 'synchronizing') this.plans.set(serverName(event.sid), event.plan)
    if (event.type === 'leading') this.leads(server, event.epoch)
    if (event.type === 'following') this.follows(server, event.epoch)
  }

  /** No server may synchronize with a leader that has no quorum yet. */
  private follows(server: string, epoch: bigint): void {
    // A leader that resigns as soon as it has its quorum, because of a change of members, never
    // leads.
    if (this.reigns.has(epoch) || this.changes.size > 0) return
    this.recorder.violation(`${server} follows in epoch ${epoch}, which nobody leads`)
  }

  private leads(server: string, epoch: bigint): void {
    const other = this.reigns.get(epoch)
    if (other !== undefined) {
      this.recorder.violation(`${server} and ${other.leader} both lead epoch ${epoch}`)
    }
    const reign = { leader: server, base: this.bases.get(server) ?? 0n }
    this.reigns.set(epoch, reign)
    this.promises.leads(server, epoch)
    this.checkPromises(server, epoch, reign)
    this.recorder.count('epochs')
    const members = this.members.get(epoch) ?? new Map<string, bigint | undefined>()
    for (const [name, zxid] of members) this.checkMember(name, zxid, epoch, reign)
    const config = this.configAt(epochStart(epoch))
    if (!members.has(server) || !isEnough(config, this.idsOf(members.keys()))) {
      const names = [...members.keys()].join()
      this.recorder.violation(`${server} leads epoch ${epoch}, which only [${names}] entered`)
    }
  }

  /** A quorum has promised the epoch, and none of it was ahead of its leader. */
  private checkPromises(server: string, epoch: bigint, { base }: Reign): void {
    // While a change is only proposed, a server that is ahead may count: see `Discovery`.
    if (this.changes.size > 0) return
    const baseEpoch = this.basesOf.get(server) ?? 0n
    const behind = [server]
    for (const [name, claim] of this.promised.get(epoch) ?? []) {
      const isAhead = claim.epoch > baseEpoch || (claim.epoch === baseEpoch && claim.zxid > base)
      if (!isAhead) behind.push(name)
    }
    if (isEnough(this.configAt(epochStart(epoch)), this.idsOf(behind))) return
    this.recorder.violation(
      `${server} leads epoch ${epoch}, and of those who promised it only [${behind.join()}] have no more`,
    )
  }

  /** A leader must have completed the changes of members in its history. */
  leadsBy(server: string, epoch: bigint, { version }: Membership): void {
    const { base } = this.reigns.get(epoch)!
    const missed = [...this.changes].find((zxid) => zxid > version && this.isBefore(zxid, base))
    if (missed === undefined) return
    this.recorder.violation(
      `${server} leads by ${hex(version)}, and its history has ${hex(missed)}`,
    )
  }

  /** Whether a transaction is part of the history that ends at `last`. */
  private isBefore(zxid: bigint, last: bigint): boolean {
    let end = last
    while (epochOf(end) > epochOf(zxid)) end = this.baseOf(epochStart(epochOf(end))) ?? 0n
    return epochOf(end) === epochOf(zxid) && zxid <= end
  }

  /** One zxid must be one transaction, committed or not, on all servers and at all times. */
  applied(zxid: bigint, payload: Uint8Array): void {
    this.recorder.note(zxid, payload)
    if (TxnHeader.read(new Reader(payload)).type === reconfigType) this.changes.add(zxid)
  }

  /** A transaction was applied as committed, and left the tree with this digest, if it counts. */
  deliver(server: string, zxid: bigint, digest: bigint | undefined): void {
    const last = this.last.get(server)
    if (last !== undefined && !follows(last, zxid)) {
      this.recorder.violation(`${server} delivers ${hex(zxid)} behind ${hex(last)}`)
    }
    this.last.set(server, zxid)
    if (!this.delivered.has(zxid)) {
      this.delivered.set(zxid, server)
      this.checkHeld(server, zxid)
    }
    if (digest === undefined) return
    const other = this.digests.get(zxid)
    if (other === undefined) this.digests.set(zxid, { digest, server })
    else if (other.digest !== digest) {
      this.recorder.violation(`${server} and ${other.server} differ after ${hex(zxid)}`)
    }
  }

  /** Everything that a server considers committed must be on the disks of a quorum. */
  private checkHeld(server: string, zxid: bigint): void {
    const holders = this.holdersOf(zxid)
    if (isEnough(this.configAt(zxid), this.idsOf(holders))) return
    this.recorder.violation(
      `${server} delivers ${hex(zxid)}, which only [${holders.join()}] have on disk`,
    )
  }

  /**
   * The history that ends at this zxid: within an epoch counters have no gaps, and each epoch
   * continues where its leader's history ended.
   */
  historyUpTo(last: bigint): Map<bigint, Uint8Array> {
    const zxids: bigint[] = []
    for (let end = last; end > 0n;) {
      const epoch = epochOf(end)
      for (let zxid = end; counterOf(zxid) > 0n; zxid--) zxids.push(zxid)
      const base = this.baseOf(end)
      if (base === undefined || epochOf(base) >= epoch) {
        this.recorder.violation(`nobody led epoch ${epoch}, and yet ${hex(end)} is in the history`)
        break
      }
      end = base
    }
    const history = new Map<bigint, Uint8Array>()
    for (const zxid of zxids.toReversed()) {
      const payload = this.recorder.log.get(zxid)
      if (payload !== undefined) history.set(zxid, payload)
      else this.recorder.violation(`nobody ever held transaction ${hex(zxid)} of the history`)
    }
    return history
  }

  /** Every delivered transaction must be in the history of every leader. */
  checkNothingDeliveredIsLost(history: ReadonlyMap<bigint, Uint8Array>): void {
    for (const [zxid, server] of this.delivered) {
      if (history.has(zxid)) continue
      this.recorder.violation(`${server} delivered ${hex(zxid)}, which is not in the history`)
    }
  }
}
