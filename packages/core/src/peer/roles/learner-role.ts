import type { Decision } from '../../consensus/election/election.ts'
import type { Remedy } from '../../consensus/zab/options.ts'
import { TruncateError } from '../../storage/log/truncate.ts'
import type { ReachedMaster } from '../dialler.ts'
import { Following } from '../following.ts'
import { TakingObservers, type LeaderRelay } from '../taking-observers.ts'
import type { RoleParts } from './role-parts.ts'

/** The role of a follower or observer on this server, with the server that it has reached. */
export function learnerRole(
  parts: RoleParts,
  { state, leader }: Decision,
  { link, master }: ReachedMaster,
): Following {
  const { options, epochs, db, committedLog, pipeline, clock } = parts
  const { members, standing, history, journal, service, zabStats } = parts
  const isObserver = state === 'observing'
  return new Following(
    {
      self: options.self,
      leader: master,
      elected: leader,
      isObserver,
      epochs,
      db,
      pipeline,
      committedLog,
      configs: members.configs,
      wantsEverything: standing.wantsEverything,
      lacksData: standing.lacksData,
      clock,
      history,
      stats: zabStats,
      trace: parts.zabTrace,
      flush: () => history.flush(),
      loadFrom: (from, zxid) => history.loadFrom(from, zxid),
      truncate: (zxid) => truncate(parts, zxid),
      takeSnapshot: () => history.takeSnapshot(standing.keepsOldFiles),
      abandonSnapshot: () => journal.abandonSnapshot(),
      serving: (epoch) => serves(parts, epoch, leader),
      takeObservers: (epoch, relay) =>
        isObserver ? undefined : takeObservers(parts, epoch, relay),
      remedyForTree: () => remedyForTree(parts),
      upstreamTo: (upstream) => service.upstreamTo(upstream),
    },
    options,
    link,
  )
}

async function truncate({ history, members, standing }: RoleParts, zxid: bigint): Promise<void> {
  try {
    await history.truncate(zxid)
    members.readLogged()
  } catch (error) {
    if (error instanceof TruncateError) standing.truncateFailed()
    throw error
  }
}

/** This server is up to date with its leader: clients are served from now on. */
function serves(parts: RoleParts, epoch: bigint, leader: bigint): void {
  const { members, electing, standing, log, restoring, handingOver } = parts
  members.show()
  electing.election.established(epoch)
  standing.serves()
  void log.releaseExtent()
  handingOver.serves(leader)
  restoring.follows()
}

function remedyForTree({ standing, clock, zabTrace }: RoleParts): Remedy {
  const remedy = standing.treeDiffers(clock.nowMs)
  zabTrace({ type: 'treeDiffers', from: 'leader', remedy })
  if (remedy === 'takeEverything') standing.asksForEverything()
  return remedy
}

/** A follower takes observers from now on, if the ensemble is configured so. */
function takeObservers(
  parts: RoleParts,
  epoch: bigint,
  up: LeaderRelay,
): TakingObservers | undefined {
  const { options, db, committedLog, host, members, clock, zabTrace, pipeline, network } = parts
  const { observerMaster, self } = options
  if (observerMaster === undefined) return undefined
  return new TakingObservers(
    {
      self,
      epoch,
      db,
      committedLog,
      configs: members.configs,
      host,
      nowMs: () => clock.nowMs,
      trace: zabTrace,
      up,
      listen: (isOn) => network.listen(isOn, 'observers'),
      sessionLeft: (id) => pipeline.sessionLeft(id),
      queueBytesMax: observerMaster.queueBytesMax,
    },
    options,
  )
}
