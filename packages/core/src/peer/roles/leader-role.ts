import type { LearnerProgress } from '../../consensus/zab/learner-progress.ts'
import type { Contradiction, Remedy } from '../../consensus/zab/options.ts'
import { Proposer, type SessionsElsewhere } from '../../service/proposer.ts'
import { EndedSessions } from '../../service/sessions/ended-sessions.ts'
import { serverIdOf } from '../../service/sessions/session-ids.ts'
import { readHistory } from '../../storage/log/committed-history.ts'
import { Leading, type LeaderPort } from '../leading.ts'
import type { RoleParts } from './role-parts.ts'

/** The role of a leader on this server. Its clients are served while it is established. */
export function leaderRole(parts: RoleParts): Leading {
  const { options, epochs, db, committedLog, host, disk, recovery, network } = parts
  const { members, clock, pipeline, electing, history, standing, zabStats } = parts
  const { self, snapshotSizeFactor } = options
  const leading: Leading = new Leading(
    {
      self,
      configs: members.configs,
      epochs,
      db,
      committedLog,
      host,
      clock,
      history,
      stats: zabStats,
      lacksData: standing.lacksData,
      listen: (isOn) => network.listen(isOn),
      readHistory: (after, before) =>
        readHistory(disk, recovery, after, before, snapshotSizeFactor),
      trace: parts.zabTrace,
      serve: (port) => serve(parts, port, leading.leader.epoch),
      synced: (ticket) => pipeline.synced(ticket),
      hold: (isOn) => pipeline.flow.hold(isOn),
      remedyFor: (from) => remedyFor(parts, from),
      joined: (sid) => electing.election.joined(sid),
    },
    options,
  )
  return leading
}

/** A quorum has this server's history: clients are served from now on. */
function serve(parts: RoleParts, port: LeaderPort, epoch: bigint): Proposer<LearnerProgress> {
  const { host, members, electing, standing, options } = parts
  const { pipeline, service, restoring, handingOver, clock, ports, batches } = parts
  // Sessions get their full timeout from now on, not from before the wait for the disk.
  parts.setTime(Math.floor(host.monotonicMs()), host.wallMs())
  members.show()
  electing.election.established(epoch)
  standing.serves()
  const elsewhere = sessionsElsewhere(options)
  const proposer = new Proposer(
    { pipeline, clock, trace: ports.trace, batches, elsewhere, ...port },
    options,
  )
  pipeline.takesClients = options.leaderServes !== false
  pipeline.upstream = service.upstreamTo(proposer)
  restoring.leads()
  proposer.dropOrphans()
  handingOver.serves(options.self)
  return proposer
}

/**
 * At first this server reads its disk again. Then it takes the tree of the others; if these are a
 * quorum, it does not count until then.
 */
function remedyFor({ standing, clock, zabTrace }: RoleParts, from: Contradiction): Remedy {
  const remedy = standing.treeDiffers(clock.nowMs)
  zabTrace({ type: 'treeDiffers', from, remedy })
  if (remedy === 'takeEverything') {
    if (from === 'quorum') standing.treeIsWorthless()
    else standing.asksForEverything()
  }
  return remedy
}

function sessionsElsewhere({
  localSessions,
  serverId,
  tickMs,
  syncLimit,
}: RoleParts['options']): SessionsElsewhere | undefined {
  if (localSessions === undefined) return undefined
  return {
    mayBe: (sessionId) => serverIdOf(sessionId) !== (serverId & 0xff),
    // A follower that has not been heard of for so long has lost its connection.
    ended: new EndedSessions((syncLimit + 1) * tickMs),
  }
}
