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

/** What an ensemble asks of its servers beyond what a server on its own is asked. */
export interface EnsembleSettings {
  readonly self: bigint
  readonly membership: Membership
  readonly initLimit: number
  readonly syncLimit: number
  /** How much of the history is kept in memory for learners that were away. */
  readonly commitLogCount: number
  /** So many transactions are in an epoch at most: with the real bound none would ever be full. */
  readonly counterMax: bigint | undefined
  /** Whether members change; then they are kept on disk. */
  readonly isChanging: boolean
  /** Followers take observers, where there are any. */
  readonly observerMasters: boolean
  readonly zab: ZabKnobs
}

/** What the ensemble's watcher is told of one process. */
export interface EnsembleEvents {
  /** The epochs this life starts with. */
  epochs(epochs: Epochs, lastZxid: bigint): void
  /** Something became part of the applied history; whether as committed is not said here. */
  applied(zxid: bigint, payload: Uint8Array): void
  zab(event: ZabEvent): void
  /** The log is durable up to here, or was replaced by one that is no longer than this. */
  logged(zxid: bigint, isReplaced: boolean): void
  said: Tapped['said']
  voted: Tapped['voted']
}

/** A committed log that tells what is added to it. */
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

/** A log that tells up to where it is durable. */
export class WatchedTxnLog extends TxnLog {
  /** The second tells that what came after was given up. */
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

/** A server's part in its ensemble, put together as `@zabra/server` does it. */
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
      electionAddresses: [`${serverName(self)}:1`],
    },
    parts.clock(),
  )
  network.peer = peer
  return { peer, network }
}
