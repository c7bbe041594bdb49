import { EnsemblePeer, formatMembership, type Database } from '@zabra/core'
import { decodeText } from '@zabra/protocol'
import {
  checkNothingShownIsLost,
  checkRealTimeOrder,
  checkSessions,
  checkSyncs,
} from './checkers/durability.ts'
import { checkLinearizable, type Search } from './checkers/linearizable.ts'
import { makeTimeline } from './checkers/timeline.ts'
import { checkTrees, type SeenTree } from './checkers/trees.ts'
import { checkWatches } from './checkers/watches.ts'
import { drawChanges, type ChangeStep } from './client/admin.ts'
import type { SimClient } from './client/client.ts'
import { Cluster } from './cluster/cluster.ts'
import type { SimServer } from './cluster/server.ts'
import { drawShape, isEnough, type Shape } from './cluster/shape.ts'
import { heal, inject } from './faults/inject.ts'
import { leaderOf } from './faults/leader-of.ts'
import {
  drawFaults,
  drawFavored,
  drawHandOvers,
  drawWindows,
  type Fault,
} from './faults/schedule.ts'
import { derivedProblems } from './history/derived.ts'
import { recoveryOf } from './history/recorder.ts'
import type { Transcript } from './history/transcript.ts'
import { dumpTree } from './history/tree-dump.ts'
import { hasWrongTree, withoutWrong } from './faults/wrong-tree.ts'
import type { Mutant } from './cluster/mutant.ts'
import { restoreAtTheEnd } from './restore.ts'
import { drawProgram, makeMany, roots, type WorkStep } from './workload/program.ts'
import { Random } from './world/random.ts'

/** The kind of a run; what is left out depends on the seed. */
export interface RunKind {
  /** 1 is a standalone server, more are an ensemble; random by default. */
  readonly servers?: number | undefined
  /** Whether members change; random by default. */
  readonly isChanging?: boolean | undefined
}

export interface RunOptions extends RunKind {
  readonly seed: number
  readonly mutant?: Mutant | undefined
  /** The indexes of steps and faults to leave out: this is how a run is shrunk. */
  readonly without?:
    | { readonly steps: ReadonlySet<number>; readonly faults: ReadonlySet<number> }
    | undefined
}

export interface RunResult {
  readonly seed: number
  readonly violations: readonly string[]
  readonly transcript: Transcript
  readonly counts: ReadonlyMap<string, number>
  readonly steps: number
  readonly faults: number
}

const setupMsMax = 30_000
const progressMsMax = 120_000
const visitsMax = 6
/** Longer than the longest session timeout and the end of a session take. */
const buryTicks = 25
/** Scenario faults, and how long they may take. */
const slowFaults: ReadonlySet<string> = new Set([
  'strandedLeader',
  'staleLeader',
  'lateFollower',
  'withdrawnAck',
  'crashAtCall',
  'crashAtKind',
  'crashInTakeover',
  'followerAway',
  'twoHistories',
  'visitors',
])
const slowFaultMs = 12_000
/** More than all remedies for a wrong tree need. */
const writesToHeal = 8
/** After this many violations more of them add nothing. */
const violationsMax = 20

/** One run: a workload under faults, then healing, and finally the checks. */
export async function run(options: RunOptions): Promise<RunResult> {
  return new Run(options).play()
}

class Run {
  private readonly options: RunOptions
  private readonly cluster: Cluster
  private readonly program: readonly WorkStep[]
  private readonly faults: readonly Fault[]
  /** An older tree is restored at the end. */
  private readonly restores: boolean
  private isChecked = false
  /** A wrong tree is the only fault, so it must not become that of all servers. */
  private readonly mustHeal: boolean
  private readonly durationMs: number
  /** The number of nodes in one directory, created first. */
  private readonly manyNodes: number
  private readonly isChanging: boolean
  private readonly changes: readonly ChangeStep[]
  /** Servers whose disks stay full when everything else is healed: no quorum needs them. */
  private readonly fullServers: readonly SimServer[]
  private readonly seen: SeenTree[] = []
  /** When the setup was complete. */
  private livesFromMs = 0
  /** The history that the servers of an ensemble agree on at the end. */
  private agreed: ReadonlyMap<bigint, Uint8Array> | undefined

  constructor(options: RunOptions) {
    this.options = options
    const { seed, mutant } = options
    const drawn = new Random(`${seed}`)
    const plan = drawn.fork('plan')
    const clients = plan.between(1, 5)
    const servers =
      options.servers ??
      (mutant === undefined ? drawServers(drawn.fork('servers')) : (mutant.servers ?? 1))
    const forced = options.isChanging ?? mutant?.isChanging
    const drawnShape = mutant?.shape ?? drawShape(drawn.fork('shape'))
    // With groups and weights, each change would have to list all members.
    const shape = forced === true && drawnShape === 'weighted' ? 'plain' : drawnShape
    const isChanging = forced ?? (mutant === undefined && drawChanging(drawn, shape))
    this.isChanging = isChanging && servers > 1
    this.cluster = new Cluster({
      seed: `${seed}`,
      servers,
      shape,
      clients,
      isChanging: this.isChanging,
      localSessions:
        mutant === undefined && drawn.fork('local sessions').chance(0.06) ? 'kept' : undefined,
      mutant,
    })
    const size = drawn.fork('size')
    // Some runs are longer, and some have a tree that takes a while to write and to send.
    const times = size.chance(0.05) ? size.between(2, 6) : 1
    this.manyNodes = size.chance(0.2) ? size.pick([40, 150, 500]) : 0
    this.cluster.manyNodes = this.manyNodes
    const durationMs = plan.between(2000, 15_000) * times
    this.durationMs = durationMs
    const { random } = this.cluster
    this.program = drawProgram(random.fork('program'), {
      clients,
      durationMs,
      steps: plan.between(40, 250) * times,
      dataBytesMax: plan.pick([50, 600, 5000]),
      manyNodes: this.manyNodes,
    })
    const faultCount = plan.chance(0.1) ? 0 : plan.between(1, 14) * times
    const isEnsemble = servers > 1
    const faults = [
      ...drawFaults(random.fork('faults'), {
        clients,
        durationMs,
        faults: faultCount,
        isEnsemble,
      }),
      ...drawFavored(random.fork('favored faults'), mutant?.faults ?? [], { clients, durationMs }),
      ...(isEnsemble ? drawHandOvers(random.fork('hand-overs'), { durationMs }) : []),
      ...drawWindows(random.fork('windows'), {
        durationMs,
        isEnsemble,
        isChanging: this.isChanging,
        hasReadOnlyMode: this.cluster.servers[0]!.options.ensemble?.zab.readOnlyMode === true,
      }),
    ]
    const mayRestore = isEnsemble && !this.isChanging
    this.restores = mayRestore && (mutant?.restores ?? random.fork('restore').chance(0.1))
    // If servers are missing, nobody may be able to tell which tree is the wrong one.
    this.mustHeal = !this.isChanging && random.fork('wrong tree').chance(0.6)
    const wrongTrees = faults.filter(({ kind }) => kind === 'wrongTree')
    const isOnly = this.mustHeal && wrongTrees.length > 0
    this.faults = isOnly ? wrongTrees : faults
    if (isOnly) for (const { disk } of this.cluster.servers) disk.condition.snapshotSlowness = 1
    // If members change, the servers needed for a quorum are not known in advance.
    this.fullServers = this.isChanging ? [] : drawMinority(random.fork('full disks'), this.cluster)
    this.changes = this.isChanging ? drawChanges(random.fork('changes'), durationMs) : []
  }

  async play(): Promise<RunResult> {
    const { cluster } = this
    await this.setUp()
    if (this.violations.length === 0) {
      this.schedule()
      await this.live(this.durationMs)
      await this.recoverFromEverything()
      if (this.violations.length <= violationsMax) {
        await this.finish()
        if (!this.isChecked) this.check()
      }
    }
    const { recorder, history, world } = cluster
    for (const complaint of history.complaints) this.violate(complaint)
    if (world.isStorm) this.violate('messages are the reason for each other, without end')
    return {
      seed: this.options.seed,
      violations: recorder.violations,
      counts: recorder.counts,
      steps: this.program.length,
      faults: this.faults.length,
      transcript: recorder.transcript,
    }
  }

  private get violations(): readonly string[] {
    return this.cluster.recorder.violations
  }

  private violate(what: string): void {
    this.cluster.recorder.violation(what)
  }

  private live(ms: number, isDone: () => boolean = () => false): Promise<void> {
    const { world } = this.cluster
    return world.runUntil(
      world.nowMs + ms,
      () => isDone() || this.violations.length > violationsMax,
    )
  }

  private async setUp(): Promise<void> {
    const { cluster } = this
    const { servers, clients } = cluster
    for (const server of servers) if (!cluster.isStranger(server)) void server.start()
    const [first] = clients
    for (const client of clients) client.start()
    for (const path of roots) {
      first!.ask({ op: 'create', kind: 'create', path, data: '', acl: 'open', flags: 0 })
    }
    for (const request of makeMany(this.manyNodes)) first!.ask(request)
    await this.live(setupMsMax, () => clients.every((client) => client.isIdle))
    if (!clients.every((client) => client.isIdle))
      this.violate('the clients got no answer at first')
  }

  private schedule(): void {
    const { cluster } = this
    const { world, clients } = cluster
    this.livesFromMs = world.nowMs
    const { without } = this.options
    for (const [i, step] of this.program.entries()) {
      if (without?.steps.has(i) === true) continue
      const client = clients[step.client]!
      world.after(step.atMs, () => {
        if (step.action.kind === 'ask')
          for (const request of step.action.requests) client.ask(request)
        else client[step.action.kind]()
      })
    }
    for (const [i, server] of cluster.servers.filter((one) => cluster.isStranger(one)).entries()) {
      server.startLater((this.durationMs / 3) * i)
    }
    for (const change of this.changes) world.after(change.atMs, () => cluster.admin.change(change))
    for (const [i, fault] of this.faults.entries()) {
      if (without?.faults.has(i) === true) continue
      world.after(fault.atMs, () => inject(cluster, fault))
    }
  }

  /** When the last fault ends, including scenarios and faults during changes of members. */
  private get lastFaultEndsMs(): number {
    const troubles = this.changes.flatMap(({ atMs, trouble }) =>
      trouble === undefined ? [] : [{ ...trouble, atMs: atMs + trouble.atMs }],
    )
    return Math.max(
      0,
      ...[...this.faults, ...troubles].map(({ atMs, forMs, kind }) => {
        return this.livesFromMs + atMs + forMs + (slowFaults.has(kind) ? slowFaultMs : 0)
      }),
    )
  }

  /**
   * Nothing fails any more: within bounded time all clients are served, and dead sessions expire.
   */
  private async recoverFromEverything(): Promise<void> {
    const { cluster } = this
    const { clients, history, recorder } = cluster
    // Faults scheduled for later still happen before that.
    await this.live(this.lastFaultEndsMs - cluster.world.nowMs)
    heal(cluster)
    for (const { disk } of this.fullServers) disk.condition.isFull = true
    const isQuiet = (): boolean => clients.every((client) => client.isIdle)
    await this.live(progressMsMax, isQuiet)
    if (!isQuiet()) {
      const stuck = clients.filter((client) => !client.isIdle).map(({ name }) => name)
      const full = this.fullServers.map(({ name }) => name)
      const what = full.length === 0 ? 'nothing is wrong any more' : `only ${full.join()} is full`
      this.violate(`${what}, and still ${stuck.join()} is not served`)
    }
    for (const { disk } of this.fullServers) disk.condition.isFull = false
    if (this.fullServers.length > 0) recorder.count('runs with a full minority')
    await this.buryTheDead()
    if (recorder.ensemble !== undefined) await this.tour()
    for (const client of clients) client.ask({ op: 'sync', path: '/a' })
    await this.live(progressMsMax, isQuiet)
    await this.buryTheDead()
    for (const id of this.undead()) this.violate(`session ${id} should have expired long ago`)
    recorder.count('sessions', history.sessions.size)
  }

  /**
   * Waits until every abandoned session has ended, as long as the timeouts allow. If the counter of an
   * epoch is used up meanwhile, the next epoch restarts the timeouts of the remaining sessions.
   */
  private async buryTheDead(): Promise<void> {
    const { recorder, tickMs } = this.cluster
    const isDone = (): boolean => this.undead().length === 0
    for (;;) {
      const epochs = recorder.counts.get('epochs')
      const left = this.undead().length
      await this.live(tickMs * buryTicks, isDone)
      const isFewer = this.undead().length < left
      if (isDone() || !isFewer || recorder.counts.get('epochs') === epochs) return
    }
  }

  /** Sessions that servers know and no client has. */
  private undead(): bigint[] {
    const { clients, servers } = this.cluster
    const held = new Set(clients.map(({ session }) => session))
    const known = servers[0]!.process?.peer?.db.sessions ?? new Map<bigint, number>()
    return [...known.keys()].filter((id) => !held.has(id))
  }

  /** Every server must serve all clients and accept their writes. */
  private async tour(): Promise<void> {
    const { servers, clients, network } = this.cluster
    // A write takes up to six messages; a client with less patience may never get its answer.
    const patient = clients.filter(({ patienceMs }) => patienceMs > 8 * network.options.delayMsMax)
    const isServing = (): boolean => servers.every(({ takesPart }) => takesPart)
    await this.live(progressMsMax, isServing)
    for (const { name, options } of servers) {
      // If leaders accept no clients; the leader may change during a visit.
      const takesNone = (): boolean =>
        options.ensemble?.zab.leaderServes === false && leaderOf(this.cluster)?.name === name
      let left = patient
      // A server that has not seen what a client has seen correctly refuses it.
      for (let attempt = 1; left.length > 0 && !takesNone() && attempt <= visitsMax; attempt++) {
        left = await this.visit(name, left)
      }
      if (left.length > 0 && !takesNone() && this.violations.length === 0) {
        this.violate(
          `nothing is wrong, and ${name} does not serve ${left.map((c) => c.name).join()}`,
        )
      }
    }
  }

  /** The clients that got no answer there. */
  private async visit(server: string, visitors: readonly SimClient[]): Promise<SimClient[]> {
    const { history } = this.cluster
    const data = `to ${server}, ${history.now}`
    const first = history.operations.length
    for (const client of visitors) {
      client.goTo(server)
      client.ask({ op: 'setData', path: '/b', data, version: -1 })
    }
    await this.live(progressMsMax, () => visitors.every(({ isIdle }) => isIdle))
    const answered = new Set(
      history.operations
        .slice(first)
        .filter(({ request, result }) => 'data' in request && request.data === data && result)
        .map(({ client }) => client),
    )
    return visitors.filter((client) => !answered.has(client.name) || client.server !== server)
  }

  private async finish(): Promise<void> {
    const { cluster } = this
    const { servers, recorder } = cluster
    const isEnsemble = recorder.ensemble !== undefined
    if (isEnsemble) {
      await this.agree()
      if (this.restores && this.violations.length === 0) await this.restore()
    }
    for (const client of cluster.clients) client.stop()
    if (!isEnsemble) await this.live(1000)
    for (const server of servers) {
      const db = server.process?.peer?.db
      if (!isEnsemble && db !== undefined) this.see(server.name, db)
      let isStopped = false
      void server.stop().then(() => (isStopped = true))
      await this.live(20_000, () => isStopped)
      if (db === undefined) continue
      await recorder.readLog(server.disk.files, server.options.journal.logDir, db.lastZxid)
      const recovered = await recorder.beforeStart(server)
      // In an ensemble the log also contains what is not committed yet.
      if (isEnsemble) continue
      const left = recoveryOf(db)
      if (recovered?.zxid !== left.zxid || recovered.digest !== left.digest) {
        this.violate(`${server.name} stopped at ${left.zxid}, recovery gives ${recovered?.zxid}`)
      }
    }
  }

  /** The history that the checkers know ends here. */
  private async restore(): Promise<void> {
    this.check()
    this.isChecked = true
    const random = this.cluster.random.fork('restore')
    const problems = await restoreAtTheEnd(this.cluster, random, (...args) => this.live(...args))
    for (const problem of problems) this.violate(problem)
  }

  /** All servers must end with the same state, whose history is then checked. */
  private async agree(): Promise<void> {
    const { servers, recorder } = this.cluster
    const stateOf = (server: SimServer): string => {
      const peer = server.process?.peer
      if (peer === undefined || !server.takesPart) return 'not serving'
      const { zxid, digest, sessions } = recoveryOf(peer.db)
      const version = peer instanceof EnsemblePeer ? peer.config.version : 0n
      return `configuration ${version.toString(16)}, zxid ${zxid}, digest ${digest.toString(16)}, sessions [${sessions}]`
    }
    const isAgreed = (): boolean => {
      const states = new Set(servers.map(stateOf))
      return states.size === 1 && !states.has('not serving')
    }
    await this.live(progressMsMax, isAgreed)
    if (recorder.ensemble!.treesMayDiffer) await this.writeUntil(isAgreed)
    if (!isAgreed()) {
      const states = servers.map((server) => `${server.name} ${stateOf(server)}`)
      this.violate(`the servers do not come to agree: ${states.join('; ')}`)
      return
    }
    this.checkHealed()
    for (const { name, process } of servers) this.see(name, process!.peer!.db)
    this.checkMembers()
    this.agreed = recorder.ensemble!.historyUpTo(servers[0]!.process!.peer!.lastZxid)
    recorder.ensemble!.checkNothingDeliveredIsLost(this.agreed)
  }

  private checkHealed(): void {
    const { servers, recorder } = this.cluster
    if (!recorder.ensemble!.treesMayDiffer) return
    const isWrong = servers.some(({ process }) => hasWrongTree(process!.peer!.db))
    recorder.count(`wrong tree: ${isWrong ? 'taken for right' : 'healed'}`)
  }

  /** Servers notice that their trees differ when something is written, twice for each remedy. */
  private async writeUntil(isAgreed: () => boolean): Promise<void> {
    const [first] = this.cluster.clients
    const isIdle = (): boolean => first!.isIdle
    for (let writes = 0; writes < writesToHeal; writes++) {
      first!.ask({ op: 'setData', path: '/b', data: `to notice, ${writes}`, version: -1 })
      await this.live(progressMsMax, isIdle)
    }
    await this.live(progressMsMax, isAgreed)
  }

  /** Clients must read the configuration that the servers use, and one of its members leads. */
  private checkMembers(): void {
    const { servers, recorder } = this.cluster
    for (const { name, process } of servers) {
      const peer = process!.peer!
      if (!(peer instanceof EnsemblePeer)) continue
      const shown = decodeText(peer.db.configText ?? new Uint8Array(0))
      const actual = formatMembership(peer.config)
      if (shown !== actual) this.violate(`${name} shows ${shown} and goes by ${actual}`)
    }
    const { self } = leaderOf(this.cluster)?.options.ensemble ?? {}
    const { config } = recorder.ensemble!
    if (self === undefined || config.servers.get(self)?.role !== 'participant') {
      this.violate(`server ${self} leads, and has no vote`)
    }
  }

  private see(name: string, db: Database): void {
    for (const problem of derivedProblems(db)) this.violate(`${name}: ${problem}`)
    const isExcused = !this.mustHeal || this.cluster.recorder.ensemble?.wrongTreeWasSent === true
    const tree = isExcused ? withoutWrong(dumpTree(db)) : dumpTree(db)
    this.seen.push({ name, zxid: db.lastZxid, tree })
  }

  private check(): void {
    const { history, recorder } = this.cluster
    const report = (what: string): void => this.violate(what)
    const isEnsemble = recorder.ensemble !== undefined
    const log = isEnsemble ? this.agreed : inOrder(recorder.log, report)
    if (log === undefined) return
    const timeline = makeTimeline(log, history, recorder.expiredSessions, isEnsemble, report)
    const trees: SeenTree[] = recorder.lives.map(({ server, life, zxid, tree }) => {
      return { name: `${server} in life ${life}`, zxid, tree }
    })
    // A server of an ensemble may have started from transactions that were discarded later.
    const known = trees.filter(({ zxid }) => !isEnsemble || timeline.placeOf(zxid) !== undefined)
    checkTrees([...known, ...this.seen], timeline, report)
    // One server of an ensemble may forget what the others keep: there `delivered` counts.
    if (!isEnsemble) checkNothingShownIsLost(history, recorder.lives, report)
    checkSessions(history, timeline, report)
    const ofWhat = isEnsemble ? 'writes' : 'everything'
    checkRealTimeOrder(history, ofWhat, report)
    checkSyncs(history, report)
    checkWatches(history, timeline, report)
    this.count(checkLinearizable(history, timeline, isEnsemble, report))
  }

  private countEnsemble(): void {
    const { servers, hierarchy } = this.cluster.recorder.ensemble?.membership ?? {}
    if (servers === undefined) return
    const { recorder } = this.cluster
    const voters = [...servers.values()].filter(({ role }) => role === 'participant').length
    recorder.count(`runs of ${voters} voters`)
    if (servers.size > voters) {
      const byFollowers = this.cluster.servers[0]!.options.ensemble?.observerMasters === true
      recorder.count(`runs with observers${byFollowers ? ' of followers' : ''}`)
    }
    if (hierarchy !== undefined) recorder.count('runs with weights')
    if (this.isChanging) recorder.count('runs in which members change')
  }

  private count({ configurations, partitions, undecided }: Search): void {
    const { history, recorder, world, network, servers } = this.cluster
    const answered = history.operations.filter(({ result }) => result !== undefined)
    recorder.count('runs')
    if (this.manyNodes > 0) recorder.count('runs with a large tree')
    this.countEnsemble()
    recorder.count('operations answered', answered.length)
    recorder.count('operations unanswered', history.operations.length - answered.length)
    for (const { request } of history.operations) recorder.count(`op: ${request.op}`)
    const frames = history.conversations.flatMap((conversation) => conversation.frames)
    recorder.count('notifications', frames.filter(({ kind }) => kind === 'notification').length)
    recorder.count('connections', history.conversations.length)
    recorder.count('connections reset', network.resets)
    recorder.count('transactions', recorder.log.size)
    recorder.count('events', world.events)
    recorder.count('virtual seconds', Math.round(world.nowMs / 1000))
    recorder.count('linearizability: configurations', configurations)
    recorder.count('linearizability: trees', partitions)
    recorder.count('linearizability: undecided trees', undecided)
    for (const { disk } of servers) {
      recorder.count('disk calls', disk.calls)
      recorder.count('bits flipped', disk.flips)
      recorder.count('syncs failed', disk.failedSyncs)
      recorder.count('refused for space', disk.refusedForSpace)
      recorder.count('configuration files refused', disk.refusedForConfig)
      recorder.count('calls failed', disk.failedCalls)
    }
  }
}

/** Half of the runs are of ensembles, most of them small. */
function drawServers(random: Random): number {
  return random.chance(0.5) ? 1 : random.chance(0.78) ? 3 : random.chance(0.8) ? 5 : 7
}

/** In some runs members change. */
function drawChanging(random: Random, shape: Shape): boolean {
  return shape !== 'weighted' && random.fork('changing').chance(0.35)
}

/** In some runs of ensembles: a few servers without which the others are still a quorum. */
function drawMinority(random: Random, { servers, recorder }: Cluster): readonly SimServer[] {
  const { ensemble } = recorder
  if (ensemble === undefined || !random.chance(0.3)) return []
  const first = random.between(0, servers.length - 1)
  const countMax = random.between(1, Math.floor((servers.length - 1) / 2))
  const others = new Set(ensemble.membership.servers.keys())
  const drawn: SimServer[] = []
  for (let i = 0; i < countMax; i++) {
    const server = servers[(first + i) % servers.length]!
    others.delete(server.options.ensemble!.self)
    if (!isEnough(ensemble.membership, others)) break
    drawn.push(server)
  }
  return drawn
}

/** The log of a standalone server has no gap. */
function inOrder(
  log: ReadonlyMap<bigint, Uint8Array>,
  report: (what: string) => void,
): Map<bigint, Uint8Array> {
  const ordered = new Map<bigint, Uint8Array>()
  for (let zxid = 1n; ordered.size < log.size; zxid++) {
    const payload = log.get(zxid)
    if (payload === undefined) {
      report(`the log has no transaction ${zxid}, though it holds ${log.size}`)
      break
    }
    ordered.set(zxid, payload)
  }
  return ordered
}
