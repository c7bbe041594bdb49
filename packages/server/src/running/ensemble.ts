import { resolve } from 'node:path'
import {
  ConfigFiles,
  EnsemblePeer,
  Epochs,
  type BatchSource,
  type CommittedLog,
  type Database,
  type DatabaseOptions,
  type Disk,
  type HostPort,
  type Journal,
  type Membership,
  type PeerOptions,
  type PeerPorts,
  type RecoveryOptions,
  type ServerSpec,
  type TxnLog,
} from '@zabra/core'
import type { EnsembleConfig } from '../config/ensemble-config.ts'
import { logEntry, type EventLogger } from '../base/event-logger.ts'
import { NodePeerNetwork, type PeerNetworkOptions } from '../net/peer-network.ts'
import { nodeHost } from '../base/node-host.ts'
import { describeZab } from '../view/describe-zab.ts'
import { Timeline } from '../view/timeline.ts'
import type { Turn } from '../net/turn.ts'

/** A server's part in its ensemble. */
export interface JoinedEnsemble {
  readonly peer: EnsemblePeer
  readonly timeline: Timeline
  /** Opens the ports and starts looking for a leader; `fail` is called if that cannot continue. */
  start(fail: (error: Error) => void): Promise<void>
  stop(): Promise<void>
}

export async function joinEnsemble(
  parts: {
    db: Database
    lacksData: boolean
    databaseOptions: DatabaseOptions
    recovery: RecoveryOptions
    disk: Disk
    log: TxnLog
    journal: (source: BatchSource) => Journal
    committedLog: CommittedLog
    ports: PeerPorts
    wake: () => void
    turn: () => Turn
    /** A change of configuration moves this server's client port. */
    clientMoved: (address: HostPort) => void
    logger: EventLogger
  },
  options: PeerOptions & {
    ensemble: EnsembleConfig
    /** How servers connect to each other. */
    security: Pick<PeerNetworkOptions, 'tls' | 'tlsContext' | 'sasl'>
    /** The members are saved beside this file; undefined if they are not saved. */
    configFile: string | undefined
  },
  clock: { nowMs: number; wallMs: number },
): Promise<JoinedEnsemble> {
  const { ensemble, configFile } = options
  const { logger, turn, clientMoved, ...rest } = parts
  const timeline = new Timeline()
  const self = BigInt(ensemble.serverId)
  const membership = membershipOf(ensemble)
  const { snapshotDir } = parts.recovery
  const epochs = await Epochs.load(parts.disk, snapshotDir, parts.db.lastZxid, {
    resetsAccepted: ensemble.resetsAcceptedEpoch,
  })
  if (epochs.isAbsurd) {
    logger.warn('zab: accepted epoch is far beyond the current one, other servers refuse it', {
      directory: snapshotDir,
      accepted: epochs.accepted,
      current: epochs.current,
    })
  }
  const network = new NodePeerNetwork(
    { ...ensemble, ...options.security, self, membership },
    { peer: () => peer, turn, clientMoved },
    logger,
  )
  const addresses = membership.servers.get(self)?.addresses ?? []
  const peer = new EnsemblePeer(
    {
      ...rest,
      epochs,
      host: nodeHost,
      network,
      configStore:
        configFile === undefined
          ? undefined
          : new ConfigFiles(parts.disk, resolve(configFile), self),
      zabTrace: (event) => {
        timeline.add(event)
        logEntry(logger, describeZab(event))
      },
    },
    {
      ...options,
      self,
      membership,
      ...learningOptions(ensemble),
      electionAddresses: addresses.map(({ host, electionPort }) => `${host}:${electionPort}`),
    },
    clock,
  )
  let running: Promise<void> = Promise.resolve()
  return {
    peer,
    timeline,
    async start(fail) {
      await network.start()
      running = peer.run().catch(fail)
    },
    async stop() {
      await peer.finish()
      // All other servers must notice at the same time that we are gone: only then do they look for
      // a new leader without waiting for our vote.
      turn().run(() => peer.stop())
      network.stop()
      await running
      await peer.configSaved
    },
  }
}

/** The settings that the peer takes under the same names. */
function learningOptions(config: EnsembleConfig) {
  const { initLimit, syncLimit, dialLimit, dialPauseMs, reconnectDelayMs, electionTiming } = config
  const { localSessions, readOnlyMode, leaderServes, observerMaster, syncsMax } = config
  const { snapshotSizeFactor, alwaysSendSnapshot, confirmSyncs, admitsStrangers } = config
  return {
    initLimit,
    syncLimit,
    dialLimit,
    dialPauseMs,
    reconnectDelayMs,
    electionTiming,
    localSessions,
    readOnlyMode,
    leaderServes,
    observerMaster,
    syncsMax,
    snapshotSizeFactor,
    alwaysSendSnapshot,
    confirmSyncs,
    admitsStrangers,
  }
}

/** The members as the core knows them: server ids are 64-bit numbers there. */
function membershipOf(config: EnsembleConfig): Membership {
  const servers = new Map<bigint, ServerSpec>()
  for (const [id, spec] of config.servers) servers.set(BigInt(id), spec)
  const { hierarchy } = config
  return {
    version: config.dynamicConfig?.version ?? 0n,
    servers,
    hierarchy: hierarchy && {
      groups: new Map(
        [...hierarchy.groups].map(([group, ids]) => [BigInt(group), ids.map(BigInt)]),
      ),
      weights: new Map([...hierarchy.weights].map(([id, weight]) => [BigInt(id), BigInt(weight)])),
    },
  }
}
