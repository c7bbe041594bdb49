import {
  CommittedLog,
  ConfigFiles,
  EnsemblePeer,
  Epochs,
  type BatchSource,
  type Database,
  type Disk,
  type Host,
  type Journal,
  type Membership,
  type PeerPorts,
  type RecoveryOptions,
  TxnLog,
  type LogBatch,
  type ZabEvent,
} from '@zabra/core'
import type { Network } from '../world/network.ts'
import { configPath, readMembers } from './config-file.ts'
import type { ServerOptions, ZabKnobs } from './server-options.ts'
import { serverName, SimPeerNetwork, type PeerHost } from './sim-peer-network.ts'
import type { Tapped } from './tap.ts'

/** Settings of the servers of an ensemble that standalone servers do not have. */
export interface EnsembleSettings {
  readonly self: bigint
  readonly membership: Membership
  readonly initLimit: number
  readonly syncLimit: number
  /** The number of transactions kept in memory for learners that reconnect. */
  readonly commitLogCount: number
  /** The maximum number of transactions in an epoch: the real limit would never be reached. */
  readonly counterMax: bigint | undefined
  /** Whether members change; then they are stored on disk. */
  readonly isChanging: boolean
  /** Whether followers accept observers. */
  readonly observerMasters: boolean
  /** Sessions begin as local ones; the first ephemeral node makes one global. */
  readonly localSessions: boolean
  /** Or none does, and ephemeral nodes are refused. */
  readonly upgradesSessions: boolean
  readonly zab: ZabKnobs
}

/** Events of one process that the record of the ensemble observes. */
export interface EnsembleEvents {
  /** The epochs at the start of this life. */
  epochs(epochs: Epochs, lastZxid: bigint): void
  /** A transaction became part of the applied history; it may not be committed. */
  applied(zxid: bigint, payload: Uint8Array): void
  zab(event: ZabEvent): void
  /** The log is durable up to here, or was replaced by one that ends here. */
  logged(zxid: bigint, isReplaced: boolean): void
  said: Tapped['said']
  voted: Tapped['voted']
}

/** A committed log that reports additions. */
export class WatchedLog extends CommittedLog {
  private readonly tell: (zxid: bigint, payload: Uint8Array) => void

  constructor(countMax: number, tell: (zxid: bigint, payload: Uint8Array) => void) {
    super(countMax)
    this.tell = tell
  }

  override add(txn: { readonly zxid: bigint; readonly payload: Uint8Array }): void {
    super.add(txn)
    this.tell(txn.zxid, txn.payload)
  }
}

/** A log that reports how far it is durable. */
export class WatchedTxnLog extends TxnLog {
  /** Called with the new end; the second argument says that later records were discarded. */
  tell: ((zxid: bigint, isReplaced: boolean) => void) | undefined

  override async append(batch: LogBatch): Promise<void> {
    const { lastZxid } = batch
    await super.append(batch)
    this.tell?.(lastZxid, false)
  }

  override restart(lastZxid: bigint): void {
    super.restart(lastZxid)
    this.tell?.(lastZxid, true)
  }
}

/** Assembles a server's part in its ensemble as `@zabra/server` does. */
export async function joinEnsemble(
  parts: {
    db: Database
    recovery: RecoveryOptions
    disk: Disk
    log: TxnLog
    committedLog: CommittedLog
    journal: (source: BatchSource) => Journal
    host: Host
    network: Network
    peerHost: PeerHost
    ports: PeerPorts
    wake: () => void
    clock: () => { nowMs: number; wallMs: number }
    events: EnsembleEvents
  },
  options: ServerOptions,
  settings: EnsembleSettings,
): Promise<{ peer: EnsemblePeer; network: SimPeerNetwork }> {
  const { db, recovery, disk, log, committedLog, host, ports, wake, events } = parts
  const { self, initLimit, syncLimit, counterMax, isChanging, observerMasters } = settings
  const { localSessions, upgradesSessions } = settings
  const membership = isChanging ? await readMembers(disk) : settings.membership
  const epochs = await Epochs.load(disk, recovery.snapshotDir, db.lastZxid)
  events.epochs(epochs, db.lastZxid)
  const network = new SimPeerNetwork(parts.network, parts.peerHost)
  const peer = new EnsemblePeer(
    {
      db,
      databaseOptions: options.database,
      recovery,
      disk,
      log,
      journal: parts.journal,
      epochs,
      committedLog,
      host,
      network,
      configStore: isChanging ? new ConfigFiles(disk, configPath, self) : undefined,
      zabTrace: (event) => events.zab(event),
      ports,
      wake,
    },
    {
      ...options.peer,
      ...settings.zab,
      self,
      membership,
      initLimit,
      syncLimit,
      ...(counterMax === undefined ? {} : { counterMax }),
      observerMaster: observerMasters ? { queueBytesMax: 1024 * 1024 } : undefined,
      localSessions: localSessions ? { upgrading: upgradesSessions } : undefined,
      electionAddresses: [`${serverName(self)}:1`],
    },
    parts.clock(),
  )
  network.peer = peer
  return { peer, network }
}
