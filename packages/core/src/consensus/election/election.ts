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
import { beats, holds, sameVote, supporters, type Candidate, type Vote } from './vote.ts'

export interface ElectionOptions {
  readonly self: ServerId
  readonly config: ElectionConfig
  readonly timing?: Partial<ElectionTiming>
  /** Whether newer configurations are taken over from other servers. */
  readonly reconfigEnabled?: boolean
  /** Whether a server is known not to be there; `reachabilityChanged` when that may be different. */
  readonly isGone?: (server: ServerId) => boolean
}

/** Who votes. While a change of configuration is under way, both decide. */
export interface ElectionConfig {
  readonly committed: Membership
  readonly lastSeen?: Membership | undefined
}

export interface ElectionTiming {
  /** After this long a vote is told again, and then after twice as long each time ... */
  readonly notificationMinMs: number
  /** ... up to this. */
  readonly notificationMaxMs: number
  /** A quorum that agrees waits so long for a better vote. */
  readonly finalizeWaitMs: number
  /** The same when every voter that is there agrees, so that no better vote can be under way. */
  readonly unanimousWaitMs: number
  /** One who was elected waits so long for voters that want another, and may yet hear of it. */
  readonly desertedWaitMs: number
  /** One who may not lead yet stands for so long, then yields for twice as long, and so on. */
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

/** Of so many servers without a vote it is remembered what they were told. */
const toldMax = 1000

/** What an election came to. */
export interface Decision extends Candidate {
  readonly round: bigint
  readonly state: Exclude<ServerState, 'looking'>
}

export interface Envelope {
  readonly to: ServerId
  readonly notification: Notification
}

/** All that an election asks of the world. */
export interface ElectionReady {
  /** May leave at once; of several to one server only the last one matters. */
  readonly send: readonly Envelope[]
  /** The role this server is to take, until it calls `pause` or `start` again. */
  readonly decision: Decision | undefined
  /** To be adopted, followed by `reconfigure` and, if its members are others, by `start`. */
  readonly newerConfig: Membership | undefined
  /** Not committed, but to be seen, followed by `reconfigure` and `start`. */
  readonly proposedConfig: Membership | undefined
}

/**
 * Fast leader election: servers tell each other whom they would follow, change their minds for
 * better votes, and are done when a quorum agrees.
 *
 * The machine lives as long as the server. While the server looks for a leader (`start`) it plays
 * the rounds; afterwards it answers those who still look. Notifications to oneself never leave it.
 * What is decided is only a good guess: two servers may both believe in their victory. That one of
 * them alone leads an epoch is ensured by the quorum of promises that a leader collects afterwards.
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
  /** Without those whose configuration is not committed. */
  private committedQuorum!: QuorumVerifier

  private state: ServerState = 'looking'
  /** False while the state is 'looking' but the vote is not known yet. */
  private running = false
  private nowMs = 0

  /** Counts elections; survives them, but not the process. */
  private round = 0n
  private initial: Candidate = nobody
  /** The first vote of a round where nobody else is to lead. */
  private own: Candidate = nobody
  private proposal: Candidate = nobody
  /** Votes of this round. */
  private readonly votes = new Map<ServerId, Vote>()
  /** Voters that want one with less than we have, who may not lead yet. */
  private readonly behind = new Set<ServerId>()
  /** Which configuration voters have logged of which we have not heard: its version. */
  private readonly knowing = new Map<ServerId, bigint>()
  /** What we do about having more than they, until when, and how long after that. */
  private stance: 'standing' | 'yielding' | undefined
  private stanceEndsAtMs: number | undefined
  private stanceMs = 0
  /** What servers say that have a leader, whatever their round. */
  private readonly settled = new Map<ServerId, Vote>()
  /** What the last election came to, as others are told. */
  private stored: Candidate & { readonly round: bigint } = { ...nobody, round: 0n }

  private broadcastAtMs = 0
  private intervalMs = 0
  /** A quorum agrees; when nothing better comes until then, that is the decision. */
  private finishAtMs: number | undefined

  /** Voters that want another leader, since this server was elected. */
  private readonly deserters = new Set<ServerId>()
  /** Servers that have come to be led by this one. */
  private readonly followers = new Set<ServerId>()
  /** Since when they are too many. */
  private desertedAtMs: number | undefined
  /** What this server told itself. */
  private readonly loopback: Notification[] = []
  /** What those without a vote were told last, and when. */
  private readonly told = new Map<ServerId, { what: string; atMs: number }>()
  /** The newest of what each server said before the vote was known. */
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
    this.reconfigEnabled = reconfigEnabled
    this.reconfigure(config)
  }

  /** Decides by another configuration from now on. */
  reconfigure({ committed, lastSeen }: ElectionConfig): void {
    this.committed = committed
    this.lastSeen = lastSeen
    this.configText = formatMembership(committed)
    this.lastSeenText = lastSeen && formatMembership(lastSeen)
    this.committedQuorum = verifierOf(committed)
    this.quorum = combine(this.committedQuorum, lastSeen && verifierOf(lastSeen))
    this.countDeserters()
  }

  /** The server has lost its leader, and does not know yet what its log holds. */
  pause(): void {
    this.state = 'looking'
    this.deserters.clear()
    this.followers.clear()
    this.desertedAtMs = undefined
    this.running = false
    this.finishAtMs = undefined
    this.stance = this.stanceEndsAtMs = undefined
    this.decision = undefined
  }

  /**
   * Begins an election. `last` is the last zxid in the log, committed or not, and the current epoch
   * from its file. Who does not want to lead names another that has logged as much.
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
    this.behind.clear()
    this.knowing.clear()
    this.settled.clear()
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

  /** The epoch of the leader is settled: others are told so from now on. */
  established(peerEpoch: bigint): void {
    this.stored = { ...this.stored, peerEpoch }
  }

  /** A change of configuration named the leader; there is no election. */
  appoint(candidate: Candidate): Decision {
    this.pause()
    this.stored = { ...candidate, round: -1n }
    const state = this.roleUnder(candidate.leader)
    this.state = state
    return { ...this.stored, state }
  }

  /** Takes what another server says, in whatever state this one is. */
  receive(from: ServerId, notification: Notification, nowMs: number): void {
    assert(from !== this.self, 'what a server tells itself does not come from outside')
    this.nowMs = nowMs
    if (this.isNewerConfig(notification) || this.learnsProposed(from, notification)) return
    // Nobody counts the vote of one without a vote. If such a one answered as well, it and a voter
    // that looks would answer each other without end.
    const isAsked = notification.state === 'looking' && this.quorum.voters.has(this.self)
    if (!this.quorum.voters.has(from) || this.isOutdated(notification)) {
      this.answerNonVoter(from)
    } else if (this.state !== 'looking') {
      if (notification.leader === this.self) this.deserters.delete(from)
      else {
        this.deserters.add(from)
        this.followers.delete(from)
      }
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

  /**
   * Elected, but for a while now too many want another leader for a quorum ever to come. Not at
   * once: who still looks is told of us by our answer, and may be about to come. Whoever leads
   * already need not care: servers that come back vote for themselves before they hear of it.
   */
  get isDeserted(): boolean {
    const { desertedAtMs, nowMs } = this
    return desertedAtMs !== undefined && nowMs - desertedAtMs >= this.timing.desertedWaitMs
  }

  /** A server has come to be led by us, whatever it said before. */
  joined(server: ServerId): void {
    this.deserters.delete(server)
    this.followers.add(server)
    this.countDeserters()
  }

  private countDeserters(): void {
    const { state, quorum, followers, deserters, isGone } = this
    if (state !== 'leading') return
    const faithful = [...quorum.voters].filter(
      (server) => followers.has(server) || !(deserters.has(server) || isGone(server)),
    )
    if (quorum.isQuorum(new Set(faithful))) this.desertedAtMs = undefined
    else this.desertedAtMs ??= this.nowMs
  }

  /** A server may be gone that was there, or the other way round. */
  reachabilityChanged(nowMs: number): void {
    this.nowMs = nowMs
    this.countDeserters()
    // Silence that lasts already is not begun anew.
    if (this.finishAtMs !== undefined && this.isUnanimous()) this.count()
  }

  /**
   * Whether one who looks has not heard of our vote, or would have taken it over. In the same round
   * that happens when we told it before it began to look. (Apache leaves it to the next broadcast,
   * which may be 200 ms later.) Whoever is told takes our vote over: that is the end of it.
   */
  private knowsBetter(notification: Notification): boolean {
    if (this.proposal.leader === noVote) return false
    if (notification.round !== this.round) return notification.round < this.round
    return beats(this.proposal, notification, this.quorum)
  }

  /** Time passes; see `wakeAtMs`. */
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

  /** When `tick` is due next; undefined when nothing is waited for. */
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
   * Whether a configuration is proposed in which this server has a vote, and that it has not heard
   * of: it was away, and its log lacks it. Without it there may be no quorum, and those who know
   * would wait for it for ever. Who has a vote anyway does not care for hearsay: a change that came
   * to nothing must not bind those who never logged it. But where a quorum has logged it, nobody is
   * elected without one of them, and whom they want to lead may be a member of that one alone.
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
   * Whether a voter asks that does not know yet who the members are, and asks one that is none any
   * more: it may know nobody else.
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
   * Those without a vote are told at once what there is to know. Apache tells them the outcome of
   * its last election even while it looks for a new leader; the present vote serves them better.
   */
  private answerNonVoter(to: ServerId): void {
    if (this.state === 'looking' && !this.running) return
    const candidate = this.state === 'looking' ? this.proposal : this.stored
    const { leader, zxid, peerEpoch } = candidate
    const what = `${this.state} ${leader} ${zxid} ${peerEpoch} ${this.round}`
    // An Apache observer whose round is ahead of ours answers our answer: each would be the reason
    // for the next, as fast as the network allows. Nothing new is said no more often than it asks.
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

  /** Whether it has a vote in what is proposed. */
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

  /** One turn of the election. */
  private hear(from: ServerId, notification: Notification): void {
    // While a quorum that agrees waits for silence, only a better vote can change anything, or that
    // the one they agree on does not want to.
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
    else if (notification.state !== 'observing') this.considerSettled(from, notification)
  }

  private considerVote(from: ServerId, notification: Notification): void {
    // A database that is unexpectedly empty has no say.
    if (this.initial.zxid === -1n || notification.zxid === -1n) return
    // It is not insisted on: it would deny as often as it is named.
    if (this.isDenied(this.initial, from, notification)) this.initial = this.own
    // Who can name nobody is heard by nobody: the others do not come to its round, but it to theirs.
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
      this.settleFor(beats(notification, this.initial, this.quorum) ? notification : this.initial)
    } else if (beats(notification, this.proposal, this.quorum)) {
      this.settleFor(notification)
    }
    this.votes.set(from, voteOf(notification))
  }

  /** A new round: what comes of it is asked for soon again, not after the pauses of the last one. */
  private enter(round: bigint): void {
    this.round = round
    this.votes.clear()
    this.intervalMs = this.timing.notificationMinMs
    this.broadcastAtMs = this.nowMs + this.intervalMs
  }

  /**
   * A configuration that is proposed may have been committed, and then what came next is in the logs
   * of its voters only. One of those has to lead where no quorum of the others has as much. It does
   * not stand before: who has not heard of that configuration would not elect it.
   */
  private mustStand(from: ServerId, notification: Notification): boolean {
    if (this.proposal.leader !== noVote || !this.isToVote()) return false
    if (beats(notification, this.initial, this.quorum)) return false
    this.behind.add(from)
    return this.committedQuorum.isQuorum(this.behind)
  }

  private stand(): void {
    this.take('standing')
    this.initial = { ...this.own, leader: this.self }
    this.settleFor(this.initial)
  }

  private take(stance: 'standing' | 'yielding'): void {
    this.stance = stance
    this.stanceEndsAtMs = this.nowMs + this.stanceMs
    this.stanceMs = Math.min(this.stanceMs * 2, this.timing.notificationMaxMs)
  }

  /**
   * Somebody who is needed may lack the configuration that we are a member of, and then does not
   * elect us. So we yield for a while, and vote for one that has less. It finds out whether what it
   * lacks can have been committed when it agrees on an epoch with others, and leads only if not.
   */
  private changeStance(): void {
    this.behind.clear()
    if (this.stance === 'standing') {
      this.take('yielding')
      this.initial = nothing
    } else {
      this.stance = this.stanceEndsAtMs = undefined
      this.initial = this.own
    }
    this.withdraw(this.self, this.round)
  }

  /**
   * Named by those who heard us while we believed to have a vote, and we have none: some who are
   * needed do not know us as a member, and would not follow. A vote that beats nobody's, in a new
   * round, lets each begin with its own again. Who is behind has not heard of it yet, and is told
   * alone: if each old word made a new round for all, they would have more to say each time.
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
   * Named for more than we have: by one that handed over to us before our disk was lost, say. In a
   * new round the others hear from ourselves what we have.
   */
  private correct(from: ServerId, round: bigint): void {
    if (round < this.round) {
      this.tell(from, this.proposal, this.round)
      return
    }
    this.enter(round + 1n)
    this.settleFor(this.own)
  }

  /** Whether the one that is to lead says itself that it will not, or that it has less. */
  private isDenied(candidate: Candidate, from: ServerId, notification: Notification): boolean {
    if (from !== candidate.leader || from === this.self) return false
    if (notification.state !== 'looking') return false
    return notification.leader !== from || !holds(notification, candidate)
  }

  private settleFor({ leader, zxid, peerEpoch }: Candidate): void {
    this.proposal = { leader, zxid, peerEpoch }
    this.broadcast()
  }

  /** Joins those who have a leader, if they are a quorum and the leader itself says so. */
  private considerSettled(from: ServerId, notification: Notification): void {
    const vote = { ...voteOf(notification), version: notification.version }
    const { round } = notification
    if (round === this.round) {
      this.votes.set(from, voteOf(notification))
      if (this.isLed(this.votes, vote)) {
        this.finish(vote)
        return
      }
    }
    this.settled.set(from, vote)
    if (this.isLed(this.settled, vote)) {
      this.round = round
      this.finish(vote)
    }
  }

  /**
   * Without a word from the leader itself, servers would elect a dead one again and again.
   *
   * To follow one that leads is safe whoever says so. A configuration that was proposed and came to
   * nothing must not keep the only server that remembers it from those who never heard of it.
   */
  private isLed(votes: ReadonlyMap<ServerId, Vote>, vote: Vote): boolean {
    if (!this.committedQuorum.isQuorum(supporters(votes, vote))) return false
    if (vote.leader === this.self) return vote.round === this.round
    return votes.get(vote.leader)?.state === 'leading'
  }

  /** Looks whether enough servers agree; every notification prolongs the wait for silence. */
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
   * Whether all who are there agree, and suffice without those who are not.
   *
   * To wait longer would only be for servers that are gone, and waiting is not what makes an
   * election safe: whoever wins here has the votes of a quorum, so nothing committed is missing in
   * its log, and leads only after a quorum has promised it an epoch. A server that comes back a
   * moment later with a better vote finds a leader, and follows it.
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

/** The vote of those who have none. */
const nobody: Candidate = { leader: noVote, zxid: noVote, peerEpoch: noVote }

/** Of one that has a vote, and would take anybody's. */
const nothing: Candidate = { leader: noVote, zxid: 0n, peerEpoch: 0n }

/** As version 0, because within one round Apache compares the leaders alone. */
function voteOf({ leader, zxid, peerEpoch, round, state }: Notification): Vote {
  return { leader, zxid, peerEpoch, round, state, version: 0 }
}
