import { resolve } from 'node:path'
import {
  ConfigFiles,
  EnsemblePeer,
  Epochs,
  type CommittedLog,
  type Database,
  type DatabaseOptions,
  type Disk,
  type HostPort,
  type Journal,
  type Membership,
  type MembershipChange,
  type PeerOptions,
  type PeerPorts,
  type RecoveryOptions,
  type ServerSpec,
  type TxnLog,
  type ZabEvent,
} from '@zabra/core'
import type { EnsembleConfig } from '../config/ensemble-config.ts'
import type { Logger } from '../base/logger.ts'
import { NodePeerNetwork, type PeerNetworkOptions } from '../net/peer-network.ts'
import { nodeHost } from '../base/node-host.ts'
import type { Turn } from '../net/turn.ts'

/** A server's part in its ensemble. */
export interface JoinedEnsemble {
  readonly peer: EnsemblePeer
  connect(journal: Journal): void
  /** Opens the ports and begins to look for a leader; `fail` is told when that cannot go on. */
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
    committedLog: CommittedLog
    ports: PeerPorts
    wake: () => void
    turn: () => Turn
    /** A change of configuration moves this server's client port. */
    clientMoved: (address: HostPort) => void
    logger: Logger
  },
  options: PeerOptions & {
    ensemble: EnsembleConfig
    /** How servers connect to each other. */
    security: Pick<PeerNetworkOptions, 'tls' | 'tlsContext' | 'sasl'>
    /** Beside which the members are kept; undefined where nothing is kept. */
    configFile: string | undefined
  },
  clock: { nowMs: number; wallMs: number },
): Promise<JoinedEnsemble> {
  const { ensemble, configFile } = options
  const { logger, turn, clientMoved, ...rest } = parts
  const self = BigInt(ensemble.serverId)
  const membership = membershipOf(ensemble)
  const { snapshotDir } = parts.recovery
  const epochs = await Epochs.load(parts.disk, snapshotDir, parts.db.lastZxid, {
    resetsAccepted: ensemble.resetsAcceptedEpoch,
  })
  if (epochs.isAbsurd) logger.warn(describeAbsurd(snapshotDir, epochs))
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
      zabTrace: (event) => logger[isWarning(event) ? 'warn' : 'info'](describeZab(event)),
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
    connect(journal) {
      peer.journal = journal
    },
    async start(fail) {
      await network.start()
      running = peer.run().catch(fail)
    },
    async stop() {
      await peer.finish()
      // The others are to see at once, and all at the same time, that we are gone: only then do
      // they look for a new leader without waiting for our vote.
      turn().run(() => peer.stop())
      network.stop()
      await running
      await peer.configSaved
    },
  }
}

/** The settings that the peer takes as they are, under the same names. */
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

const isWarning = ({ type }: ZabEvent): boolean =>
  type === 'configNotSaved' || type === 'epochRefused'

function describeAbsurd(directory: string, { accepted, current }: Epochs): string {
  return (
    `${directory}/acceptedEpoch says ${accepted}, far beyond currentEpoch, ${current}: others do not ` +
    'believe that, and may not be able to have a leader. If no attack explains it, look for what is ' +
    'wrong with the disk; how to go back is in docs/operating.md, "Epochs that are too high"'
  )
}

function describeZab(event: ZabEvent): string {
  switch (event.type) {
    case 'looking':
      return 'looking for a leader'
    case 'readOnly':
      return `no leader was found in ${event.afterMs} ms: serving reads to those who can do with them`
    case 'readOnlyWhileFull':
      return 'until there is room on the disk: serving reads to those who can do with them'
    case 'elected':
      return `server ${event.leader} is elected`
    case 'appointed':
      return `server ${event.leader} is to lead, by the new configuration`
    case 'leading':
      return `leading epoch ${event.epoch}`
    case 'takingOver':
      return `taking over the history of server ${event.leader} (${event.plan})`
    case 'following':
      return `following server ${event.leader} in epoch ${event.epoch}`
    case 'handingOver':
      return `handing over: ${event.reason}`
    case 'roleEnded':
      return `no longer: ${event.reason}`
    case 'synchronizing':
      return `bringing server ${event.sid} up to date (${event.plan})`
    case 'learnerDropped':
      return `dropped server ${event.sid}: ${event.reason}`
    case 'learnerRefused':
      return `a server was turned away: ${event.reason}`
    case 'epochRefused':
      return (
        `${event.address} came in the name of server ${event.sid}, and claims to have promised epoch ` +
        `${event.promised}, far beyond our own, ${event.own}: it was turned away. This is an attack, or ` +
        'the file acceptedEpoch of that server is damaged'
      )
    case 'changeProposed':
      return `configuration ${event.version.toString(16)} is proposed: ${describeChange(event)}`
    case 'reconfigured':
      return `configuration ${event.version.toString(16)}: ${describeChange(event)}`
    case 'configNotSaved':
      return `the configuration could not be saved: ${event.reason}`
  }
}

function describeChange({ joined, left, changed }: MembershipChange): string {
  const parts = [
    ['joined', joined],
    ['left', left],
    ['changed', changed],
  ] as const
  const said = parts.filter(([, ids]) => ids.length > 0)
  const all = said.map(([what, ids]) => `${what}: ${ids.map((id) => `server ${id}`).join(', ')}`)
  return all.join('; ') || 'the same servers'
}

/** The members as the core knows them: server ids are 64-bit numbers there. */
export function membershipOf(config: EnsembleConfig): Membership {
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
