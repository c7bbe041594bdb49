import { MalformedError, type QuorumPacket } from '@zabra/protocol'
import { TimeoutError } from '../../base/timeout-error.ts'
import { epochJumpMax } from '../../storage/epochs.ts'
import { epochOf } from '../../storage/zxid.ts'
import { epochQuestion, historyIn, readIntroduction, refuseStranger } from './greeting.ts'
import type { LeaderCore } from './leader-core.ts'
import type { LearnerProgress } from './learner-progress.ts'
import { expectPacket } from './packets.ts'

/**
 * How a server that connects becomes a learner: it says who it is, and what it has promised before;
 * once the epoch is certain it promises that, and says how far its history goes.
 */
export class Admission {
  private readonly core: LeaderCore

  constructor(core: LeaderCore) {
    this.core = core
  }

  connected(learner: LearnerProgress): void {
    this.core.learners.admit(learner)
    learner.deadlineMs = this.core.nowMs + this.core.limitMs
  }

  /** FOLLOWERINFO or OBSERVERINFO came. Returns the epoch that the server has promised. */
  introduce(learner: LearnerProgress, packet: QuorumPacket): bigint {
    const { core } = this
    const { configs, self } = core.parts
    learner.isObserver = expectPacket(packet, 'followerInfo', 'observerInfo') === 'observerInfo'
    const { serverId: sid, configVersion } = readIntroduction(packet, self)
    learner.sid = sid
    if (configVersion > configs.newest.version) {
      throw new MalformedError(`server ${sid} knows a newer configuration than its leader`)
    }
    refuseStranger(sid, configs, core.options)
    const promised = epochOf(packet.zxid)
    this.refuseAbsurd(learner, promised)
    if (!learner.isObserver) (core.ready.joined ??= []).push(sid)
    core.discovery.join(sid, promised)
    learner.become('introduced')
    core.learners.queue(learner)
    return promised
  }

  /** No server reaches such an epoch by itself. An attacker may claim it, to use up all epochs. */
  private refuseAbsurd({ sid, link }: LearnerProgress, promised: bigint): void {
    const { epochs, configs, trace } = this.core.parts
    const isPossible = promised >= 0n && promised - epochs.accepted <= epochJumpMax
    if (isPossible || !configs.isMember(sid)) return
    const own = epochs.accepted
    trace({ type: 'epochRefused', sid, address: link.remoteAddress, promised, own })
    throw new MalformedError(`server ${sid} says that it has promised epoch ${promised}`)
  }

  /** The epoch is final, and this server has promised it. */
  ask(learner: LearnerProgress): void {
    const { core } = this
    core.learners.send(learner, epochQuestion(core.epoch))
    learner.become('asked')
    learner.deadlineMs = core.nowMs + core.limitMs
    core.learners.listen(learner)
  }

  /** ACKEPOCH came. */
  promise(learner: LearnerProgress, packet: QuorumPacket): void {
    expectPacket(packet, 'ackEpoch')
    const held = historyIn(packet)
    if (!learner.isObserver && held !== undefined) {
      this.core.discovery.acknowledge(learner.sid, held.currentEpoch, held.lastZxid)
    }
    learner.loggedZxid = packet.zxid
    learner.become('promised')
    learner.deadlineMs = Infinity
    this.core.learners.queue(learner)
  }

  /** Drops servers that stay silent. */
  refuseSilent(): void {
    const { core } = this
    for (const learner of core.learners.joining) {
      if (core.nowMs <= learner.deadlineMs || !learner.isListenedTo) continue
      const what = learner.state === 'connected' ? 'an introduction' : 'an answer to the epoch'
      const error = new TimeoutError(`${what} took longer than ${core.limitMs} ms`)
      core.learners.refuse(learner, error)
    }
  }
}
