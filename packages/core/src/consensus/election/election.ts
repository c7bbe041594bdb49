import { notificationVersion, noVote, type Notification, type ServerState } from '@zabra/protocol'
import { assert } from '../../base/assert.ts'
import {
  formatMembership,
  parseMembership,
  sameMembership,
  verifierOf,
  type Membership,
} from '../../membership/membership.ts'
import { combine, type QuorumVerifier, type ServerId } from '../../membership/quorum.ts'
import type { Role } from '../../membership/server-spec.ts'
import { Desertion } from './desertion.ts'
import { beats, holds, sameVote, supporters, type Candidate, type Vote } from './vote.ts'

export interface ElectionOptions {
  readonly self: ServerId
  readonly config: ElectionConfig
  readonly timing?: Partial<ElectionTiming>
  /** Whether newer configurations are adopted from other servers. */
  readonly reconfigEnabled?: boolean
  /** Whether a server is known to be down. After a change, `reachabilityChanged` is called. */
  readonly isGone?: (server: ServerId) => boolean
}

/** The configurations that decide who votes: during a change, both must agree. */
export interface ElectionConfig {
  readonly committed: Membership
  readonly lastSeen?: Membership | undefined
}

export interface ElectionTiming {
  /** The pause before a vote is sent again. It doubles each time, ... */
  readonly notificationMinMs: number
  /** ... up to this maximum. */
  readonly notificationMaxMs: number
  /** How long a quorum that agrees waits for a better vote. */
  readonly finalizeWaitMs: number
  /** The same when all reachable voters agree, so that no better vote can be under way. */
  readonly unanimousWaitMs: number
  /** How long an elected server waits for voters that want another leader and may not know of it yet. */
  readonly desertedWaitMs: number
  /** How long a server that may not lead yet stands; then it yields for twice as long, and so on. */
  readonly standMs: number
}

const defaultTiming: ElectionTiming = {
  notificationMinMs: 200,
  notificationMaxMs: 60_000,
  finalizeWaitMs: 200,
  unanimousWaitMs: 0,
  desertedWaitMs: 500,
  standMs: 1000,
}

/** The number of servers without a vote whose last answer is remembered. */
const toldMax = 1000

/** The outcome of an election. */
export interface Decision extends Candidate {
  readonly round: bigint
  readonly state: Exclude<ServerState, 'looking'>
}

export interface Envelope {
  readonly to: ServerId
  readonly notification: Notification
}

/** Everything that an election asks of its driver. */
export interface ElectionReady {
  /** May be sent at once; of several messages to one server only the last one matters. */
  readonly send: readonly Envelope[]
  /** The role that this server takes, until `pause` or `start` is called again. */
  readonly decision: Decision | undefined
  /** A committed configuration to adopt: call `reconfigure` and, if the members differ, `start`. */
  readonly newerConfig: Membership | undefined
  /** A proposed configuration to take into account: call `reconfigure` and `start`. */
  readonly proposedConfig: Membership | undefined
}

/**
 * Fast leader election: servers send each other their votes, change them for better ones, and are
 * done when a quorum agrees.
 *
 * The machine lives as long as the server. While the server looks for a leader (`start`) it runs
 * the rounds; afterwards it answers servers that still look. Messages to itself never leave it.
 * The decision is only a good guess: two servers may both believe that they won. The quorum of
 * promises that a leader collects afterwards ensures that only one of them leads an epoch.
 */
export class Election {
  private readonly self: ServerId
  private readonly timing: ElectionTiming
  private readonly reconfigEnabled: boolean
  private readonly isGone: (server: ServerId) => boolean
  private committed!: Membership
  private lastSeen: Membership | undefined
  private configText!: string
  private lastSeenText: string | undefined
  private quorum!: QuorumVerifier
  /** The quorum of the committed configuration alone. */
  private committedQuorum!: QuorumVerifier

  private state: ServerState = 'looking'
  /** False while the state is 'looking' but the first vote is not known yet. */
  private running = false
  private nowMs = 0

  /** The number of the election. It survives elections, but not the process. */
  private round = 0n
  private initial: Candidate = nobody
  /** The first vote of a round, unless a successor was named. */
  private own: Candidate = nobody
  private proposal: Candidate = nobody
  /** The votes of this round. */
  private readonly votes = new Map<ServerId, Vote>()
  /** Voters that want a leader with less than this server has, which may not lead yet. */
  private readonly laggingVoters = new Set<ServerId>()
  /** Voters that have logged a configuration unknown here, and its version. */
  private readonly knowing = new Map<ServerId, bigint>()
  /** How this server deals with having more than them, until when, and the next duration. */
  private stance: 'standing' | 'yielding' | undefined
  private stanceEndsAtMs: number | undefined
  private stanceMs = 0
  /** The votes of servers that have a leader, in any round. */
  private readonly ledVotes = new Map<ServerId, Vote>()
  /** The outcome of the last election, which others get as an answer. */
  private stored: Candidate & { readonly round: bigint } = { ...nobody, round: 0n }

  private broadcastAtMs = 0
  private intervalMs = 0
  /** A quorum agrees; without a better vote until this time, that is the decision. */
  private finishAtMs: number | undefined

  private readonly desertion: Desertion
  /** Messages of this server to itself. */
  private readonly loopback: Notification[] = []
  /** The last answer to each server without a vote, and its time. */
  private readonly told = new Map<ServerId, { what: string; atMs: number }>()
  /** The newest message of each server that came before the first vote was known. */
  private readonly early = new Map<ServerId, Notification>()

  private send: Envelope[] = []
  private decision: Decision | undefined
  private newerConfig: Membership | undefined
  private proposedConfig: Membership | undefined

  constructor({
    self,
    config,
    timing,
    reconfigEnabled = false,
    isGone = () => false,
  }: ElectionOptions) {
    this.self = self
    this.isGone = isGone
    this.timing = { ...defaultTiming, ...timing }
    this.desertion = new Desertion(this.timing.desertedWaitMs, isGone)
    this.reconfigEnabled = reconfigEnabled
    this.reconfigure(config)
  }

  /** From now on another configuration decides. */
  reconfigure({ committed, lastSeen }: ElectionConfig): void {
    this.committed = committed
    this.lastSeen = lastSeen
    this.configText = formatMembership(committed)
    this.lastSeenText = lastSeen && formatMembership(lastSeen)
    this.committedQuorum = verifierOf(committed)
    this.quorum = combine(this.committedQuorum, lastSeen && verifierOf(lastSeen))
    this.countDeserters()
  }

  /** The server has left its role, and does not know yet what its log holds. */
  pause(): void {
    this.state = 'looking'
    this.desertion.clear()
    this.running = false
    this.finishAtMs = undefined
    this.stance = this.stanceEndsAtMs = undefined
    this.decision = undefined
  }

  /**
   * Starts an election. `last` is the last zxid in the log, committed or not, and the current epoch
   * from its file. A server that does not want to lead names a successor that has logged as much.
   */
  start(
    last: { readonly zxid: bigint; readonly peerEpoch: bigint },
    nowMs: number,
    successor?: ServerId,
  ): void {
    this.pause()
    this.nowMs = nowMs
    this.running = true
    this.round++
    this.votes.clear()
    this.laggingVoters.clear()
    this.knowing.clear()
    this.ledVotes.clear()
    this.loopback.length = 0
    this.intervalMs = this.timing.notificationMinMs
    this.stanceMs = this.timing.standMs
    this.own = this.firstVote(last)
    this.initial = successor === undefined ? this.own : { ...this.own, leader: successor }
    this.proposal = this.initial
    this.broadcast()
    const waiting = [...this.early]
    this.early.clear()
    for (const [from, notification] of waiting) this.receive(from, notification, nowMs)
    this.hearOneself()
  }

  /** The leader's epoch is known: answers to others contain it from now on. */
  established(peerEpoch: bigint): void {
    this.stored = { ...this.stored, peerEpoch }
  }

  /** A change of configuration has named the leader; there is no election. */
  appoint(candidate: Candidate): Decision {
    this.pause()
    this.stored = { ...candidate, round: -1n }
    const state = this.roleUnder(candidate.leader)
    this.state = state
    return { ...this.stored, state }
  }

  /** Takes a message of another server, in any state. */
  receive(from: ServerId, notification: Notification, nowMs: number): void {
    assert(from !== this.self, 'what a server tells itself does not come from outside')
    this.nowMs = nowMs
    if (this.isNewerConfig(notification) || this.learnsProposed(from, notification)) return
    // A server without a vote does not answer: nobody counts its vote, and it and a looking voter
    // would answer each other without end.
    const isAsked = notification.state === 'looking' && this.quorum.voters.has(this.self)
    if (!this.quorum.voters.has(from) || this.isOutdated(notification)) {
      this.answerNonVoter(from)
    } else if (this.state !== 'looking') {
      if (notification.leader === this.self) this.desertion.returned(from)
      else this.desertion.deserted(from)
      this.countDeserters()
      if (isAsked) this.tell(from, this.stored, this.stored.round)
    } else if (!this.running) {
      this.early.set(from, notification)
    } else {
      if (isAsked && this.knowsBetter(notification)) this.tell(from, this.proposal, this.round)
      this.hear(from, notification)
      this.hearOneself()
    }
  }

  /** This server was elected, and too many voters want another leader. See `Desertion`. */
  get isDeserted(): boolean {
    return this.desertion.isLasting(this.nowMs)
  }

  /** A server follows this one now, no matter how it voted before. */
  joined(server: ServerId): void {
    this.desertion.joined(server)
    this.countDeserters()
  }

  private countDeserters(): void {
    if (this.state === 'leading') this.desertion.count(this.quorum, this.nowMs)
  }

  /** A server may have gone down, or come back. */
  reachabilityChanged(nowMs: number): void {
    this.nowMs = nowMs
    this.countDeserters()
    // The wait for silence is not restarted.
    if (this.finishAtMs !== undefined && this.isUnanimous()) this.count()
  }

  /**
   * Whether a looking server does not know our vote, which it would adopt. In the same round this
   * happens when we sent the vote before it began to look. (Apache waits for the next broadcast, up
   * to 200 ms later.) The server then adopts our vote, so the exchange ends.
   */
  private knowsBetter(notification: Notification): boolean {
    if (this.proposal.leader === noVote) return false
    if (notification.round !== this.round) return notification.round < this.round
    return beats(this.proposal, notification, this.quorum)
  }

  /** Time passed; see `wakeAtMs`. */
  tick(nowMs: number): void {
    this.nowMs = nowMs
    const at = this.wakeAtMs
    if (at === undefined || nowMs < at) return
    if (this.finishAtMs !== undefined) {
      this.finish({ ...this.proposal, round: this.round })
      return
    }
    if (this.stanceEndsAtMs !== undefined && nowMs >= this.stanceEndsAtMs) {
      this.changeStance()
      this.hearOneself()
      return
    }
    this.intervalMs = Math.min(this.intervalMs * 2, this.timing.notificationMaxMs)
    this.broadcast()
    this.hearOneself()
  }

  /** When `tick` is due next; undefined if nothing is due. */
  get wakeAtMs(): number | undefined {
    if (!this.running) return undefined
    return this.finishAtMs ?? Math.min(this.broadcastAtMs, this.stanceEndsAtMs ?? Infinity)
  }

  takeReady(): ElectionReady {
    const { send, decision, newerConfig, proposedConfig } = this
    this.send = []
    this.decision = this.newerConfig = this.proposedConfig = undefined
    return { send, decision, newerConfig, proposedConfig }
  }

  private firstVote({ zxid, peerEpoch }: { zxid: bigint; peerEpoch: bigint }): Candidate {
    if (this.isObserver()) return nobody
    const mayLead = this.hasRole('participant', this.committed)
    return { leader: mayLead ? this.self : noVote, zxid, peerEpoch }
  }

  private isObserver(): boolean {
    return this.hasRole('observer', this.committed) && !this.isToVote()
  }

  /** A configuration is proposed in which this server has a vote. */
  private isToVote(): boolean {
    return this.lastSeen !== undefined && this.hasRole('participant', this.lastSeen)
  }

  private hasRole(role: Role, members: Membership): boolean {
    return hasRole(this.self, role, members)
  }

  private roleUnder(leader: ServerId): Decision['state'] {
    if (leader === this.self) return 'leading'
    return this.isObserver() ? 'observing' : 'following'
  }

  /** Servers exchange their configurations along with their votes. */
  private isNewerConfig({ config }: Notification): boolean {
    if (!this.reconfigEnabled || this.state !== 'looking') return false
    if (config === undefined || config === this.configText) return false
    const parsed = parseMembership(config)
    if ('problem' in parsed || parsed.value.version <= this.committed.version) return false
    if (this.newerConfig === undefined || parsed.value.version > this.newerConfig.version) {
      this.newerConfig = parsed.value
    }
    return !sameMembership(parsed.value, this.committed)
  }

  /**
   * Whether a configuration is proposed that gives this server a vote, and that it did not know: it
   * was away, and its log lacks the change. Without this server there may be no quorum, and the
   * others would wait forever. A server that has a vote anyway ignores such reports: an abandoned
   * change must not bind servers that never logged it. But if a quorum has logged it, nobody is
   * elected without one of them, and their candidate may be a member of that configuration alone.
   */
  private learnsProposed(from: ServerId, { proposed }: Notification): boolean {
    if (!this.reconfigEnabled || this.state !== 'looking' || proposed === undefined) return false
    const parsed = parseMembership(proposed)
    if ('problem' in parsed || !this.hasRole('participant', parsed.value)) return false
    const { version } = parsed.value
    const known = (this.proposedConfig ?? this.lastSeen ?? this.committed).version
    if (version <= known) return false
    if (this.hasRole('participant', this.committed) && !this.isKnownToMost(version, from))
      return false
    this.proposedConfig = parsed.value
    return true
  }

  private isKnownToMost(version: bigint, from: ServerId): boolean {
    if (!this.committedQuorum.voters.has(from)) return false
    this.knowing.set(from, version)
    const alike = [...this.knowing].filter(([, known]) => known === version).map(([id]) => id)
    return this.committedQuorum.isQuorum(new Set(alike))
  }

  /**
   * Whether a voter with an outdated configuration asks this server, which is not a member any more:
   * the voter may know nobody else.
   */
  private isOutdated({ state, config }: Notification): boolean {
    if (!this.reconfigEnabled || state !== 'looking' || this.quorum.voters.has(this.self)) {
      return false
    }
    if (config === undefined || config === this.configText) return false
    const parsed = parseMembership(config)
    return 'value' in parsed && parsed.value.version < this.committed.version
  }

  /**
   * Answers a server without a vote at once. Apache sends the outcome of its last election even while
   * it looks for a new leader; the present vote is more useful.
   */
  private answerNonVoter(to: ServerId): void {
    if (this.state === 'looking' && !this.running) return
    const candidate = this.state === 'looking' ? this.proposal : this.stored
    const { leader, zxid, peerEpoch } = candidate
    const what = `${this.state} ${leader} ${zxid} ${peerEpoch} ${this.round}`
    // An Apache observer whose round is ahead of ours answers our answer, and so on, as fast as the
    // network allows. So an unchanged answer is sent no more often than observers ask.
    const last = this.told.get(to)
    const pauseMs = this.timing.notificationMinMs / 2
    if (last?.what === what && this.nowMs - last.atMs < pauseMs) return
    if (this.told.size >= toldMax) this.told.clear()
    this.told.set(to, { what, atMs: this.nowMs })
    this.tell(to, candidate, this.round)
  }

  private tell(to: ServerId, { leader, zxid, peerEpoch }: Candidate, round: bigint): void {
    const { state, configText: config } = this
    const vote = { state, leader, zxid, round, peerEpoch, version: notificationVersion, config }
    const notification = this.isConcern(to) ? { ...vote, proposed: this.lastSeenText } : vote
    if (to === this.self) this.loopback.push(notification)
    else this.send.push({ to, notification })
  }

  /** Whether a server has a vote in the proposed configuration. */
  private isConcern(server: ServerId): boolean {
    return this.lastSeen !== undefined && hasRole(server, 'participant', this.lastSeen)
  }

  private broadcast(): void {
    for (const to of this.quorum.voters) this.tell(to, this.proposal, this.round)
    this.broadcastAtMs = this.nowMs + this.intervalMs
  }

  private hearOneself(): void {
    while (this.running) {
      const notification = this.loopback.shift()
      if (notification === undefined) return
      this.hear(this.self, notification)
    }
  }

  /** Processes one vote. */
  private hear(from: ServerId, notification: Notification): void {
    // While a quorum that agrees waits for silence, only a better vote can change anything, or the
    // refusal of the candidate.
    const { proposal } = this
    const matters =
      this.isDenied(proposal, from, notification) || beats(notification, proposal, this.quorum)
    if (this.finishAtMs === undefined || matters) {
      this.consider(from, notification)
    } else if (sameVote(voteOf(notification), this.ownVote())) {
      this.votes.set(from, voteOf(notification))
    }
    if (this.running) this.count()
  }

  private consider(from: ServerId, notification: Notification): void {
    const { voters } = this.quorum
    if (!voters.has(from) || !voters.has(notification.leader)) return
    if (notification.state === 'looking') this.considerVote(from, notification)
    else if (notification.state !== 'observing') this.considerLed(from, notification)
  }

  private considerVote(from: ServerId, notification: Notification): void {
    // A database that is unexpectedly empty has no say.
    if (this.initial.zxid === -1n || notification.zxid === -1n) return
    // A candidate that refuses is dropped: it would refuse each time.
    if (this.isDenied(this.initial, from, notification)) this.initial = this.own
    // The others ignore a vote for nobody, so this server comes to their round.
    const isFree = this.proposal.leader === noVote && beats(notification, this.initial, this.quorum)
    if (!isFree && this.mustStand(from, notification)) this.stand()
    if (notification.leader === this.self && this.initial.leader === noVote) {
      this.withdraw(from, notification.round)
      return
    }
    if (notification.leader === this.self && !holds(this.own, notification)) {
      this.correct(from, notification.round)
      return
    }
    if (notification.round < this.round && !isFree) return
    if (notification.round !== this.round) {
      this.enter(notification.round)
      this.voteFor(beats(notification, this.initial, this.quorum) ? notification : this.initial)
    } else if (beats(notification, this.proposal, this.quorum)) {
      this.voteFor(notification)
    }
    this.votes.set(from, voteOf(notification))
  }

  /** Enters a round; messages are repeated after short pauses again. */
  private enter(round: bigint): void {
    this.round = round
    this.votes.clear()
    this.intervalMs = this.timing.notificationMinMs
    this.broadcastAtMs = this.nowMs + this.intervalMs
  }

  /**
   * A proposed configuration may have been committed, and then later transactions are in the logs of
   * its voters only. One of those must lead if no quorum of the others has as much. It does not stand
   * before: servers that do not know the configuration would not elect it.
   */
  private mustStand(from: ServerId, notification: Notification): boolean {
    if (this.proposal.leader !== noVote || !this.isToVote()) return false
    if (beats(notification, this.initial, this.quorum)) return false
    this.laggingVoters.add(from)
    return this.committedQuorum.isQuorum(this.laggingVoters)
  }

  private stand(): void {
    this.take('standing')
    this.initial = { ...this.own, leader: this.self }
    this.voteFor(this.initial)
  }

  private take(stance: 'standing' | 'yielding'): void {
    this.stance = stance
    this.stanceEndsAtMs = this.nowMs + this.stanceMs
    this.stanceMs = Math.min(this.stanceMs * 2, this.timing.notificationMaxMs)
  }

  /**
   * A voter that is needed may lack the configuration that this server is a member of, and does not
   * elect it. So this server yields for a while, and votes for one that has less. When that one agrees
   * on an epoch with others it finds out whether what it lacks can be committed, and leads only if not.
   */
  private changeStance(): void {
    this.laggingVoters.clear()
    if (this.stance === 'standing') {
      this.take('yielding')
      this.initial = anybody
    } else {
      this.stance = this.stanceEndsAtMs = undefined
      this.initial = this.own
    }
    this.withdraw(this.self, this.round)
  }

  /**
   * Others name this server because of an earlier vote, but it has no vote: some that are needed do
   * not know it as a member, and would not follow. The weakest vote, in a new round, makes every
   * server restart from its own. A server in an older round gets its own answer: a new round for every old
   * message would cause more messages each time.
   */
  private withdraw(from: ServerId, round: bigint): void {
    const { voters } = this.committedQuorum
    const [any = from] = voters
    const weakest = { leader: voters.has(from) ? from : any, zxid: 0n, peerEpoch: 0n }
    if (round < this.round) {
      this.tell(from, weakest, this.round)
      return
    }
    this.enter(round + 1n)
    this.proposal = this.initial
    for (const to of this.quorum.voters) if (to !== this.self) this.tell(to, weakest, this.round)
  }

  /**
   * Others name this server with a longer history than it has; for example, one handed over to it
   * before its disk was lost. In a new round they learn its real history from itself.
   */
  private correct(from: ServerId, round: bigint): void {
    if (round < this.round) {
      this.tell(from, this.proposal, this.round)
      return
    }
    this.enter(round + 1n)
    this.voteFor(this.own)
  }

  /** Whether the candidate itself says that it does not want to lead, or that it has less. */
  private isDenied(candidate: Candidate, from: ServerId, notification: Notification): boolean {
    if (from !== candidate.leader || from === this.self) return false
    if (notification.state !== 'looking') return false
    return notification.leader !== from || !holds(notification, candidate)
  }

  private voteFor({ leader, zxid, peerEpoch }: Candidate): void {
    this.proposal = { leader, zxid, peerEpoch }
    this.broadcast()
  }

  /** Joins servers that have a leader, if they are a quorum and the leader itself confirms it. */
  private considerLed(from: ServerId, notification: Notification): void {
    const vote = { ...voteOf(notification), version: notification.version }
    const { round } = notification
    if (round === this.round) {
      this.votes.set(from, voteOf(notification))
      if (this.isLed(this.votes, vote)) {
        this.finish(vote)
        return
      }
    }
    this.ledVotes.set(from, vote)
    if (this.isLed(this.ledVotes, vote)) {
      this.round = round
      this.finish(vote)
    }
  }

  /**
   * Without a message from the leader itself, servers would elect a dead one again and again.
   *
   * Following an established leader is always safe, so the committed quorum is enough: an abandoned
   * configuration must not isolate the only server that remembers it.
   */
  private isLed(votes: ReadonlyMap<ServerId, Vote>, vote: Vote): boolean {
    if (!this.committedQuorum.isQuorum(supporters(votes, vote))) return false
    if (vote.leader === this.self) return vote.round === this.round
    return votes.get(vote.leader)?.state === 'leading'
  }

  /** Checks whether enough servers agree; every message extends the wait for silence. */
  private count(): void {
    const vote = this.ownVote()
    const agreeing = supporters(this.votes, vote)
    if (!this.quorum.isQuorum(agreeing)) {
      this.finishAtMs = undefined
      return
    }
    const { finalizeWaitMs, unanimousWaitMs } = this.timing
    const waitMs = this.isUnanimous() ? unanimousWaitMs : finalizeWaitMs
    if (waitMs === 0) this.finish(vote)
    else this.finishAtMs = this.nowMs + waitMs
  }

  /**
   * Whether all reachable servers agree, and are a quorum.
   *
   * Waiting longer would only help servers that are down, and waiting is not what makes an election
   * safe: the winner has the votes of a quorum, so its log lacks nothing committed, and it leads only
   * after a quorum has promised it an epoch. A server that comes back a moment later with a better
   * vote finds a leader, and follows it.
   */
  private isUnanimous(): boolean {
    const agreeing = supporters(this.votes, this.ownVote())
    const { quorum, isGone } = this
    for (const voter of quorum.voters) {
      if (isGone(voter)) agreeing.delete(voter)
      else if (!agreeing.has(voter)) return false
    }
    return quorum.isQuorum(agreeing) && !isGone(this.proposal.leader)
  }

  private ownVote(): Vote {
    return { ...this.proposal, round: this.round, state: 'looking', version: 0 }
  }

  private finish({ leader, zxid, peerEpoch, round }: Candidate & { round: bigint }): void {
    this.pause()
    this.early.clear()
    this.loopback.length = 0
    this.stored = { leader, zxid, peerEpoch, round }
    const state = this.roleUnder(leader)
    this.state = state
    this.decision = { ...this.stored, state }
  }
}

function hasRole(server: ServerId, role: Role, { servers }: Membership): boolean {
  return servers.get(server)?.role === role
}

/** The vote of a server without a vote. */
const nobody: Candidate = { leader: noVote, zxid: noVote, peerEpoch: noVote }

/** The first vote of a voter that accepts any other vote. */
const anybody: Candidate = { leader: noVote, zxid: 0n, peerEpoch: 0n }

/** As version 0, because within one round Apache compares the leaders alone. */
function voteOf({ leader, zxid, peerEpoch, round, state }: Notification): Vote {
  return { leader, zxid, peerEpoch, round, state, version: 0 }
}
