import {
  CommittedLog,
  EnsemblePeer,
  Epochs,
  type Database,
  type Disk,
  type Host,
  type Membership,
  type PeerPorts,
  type RecoveryOptions,
  type ServerSpec,
  type TxnLog,
  type ZabEvent,
} from '@zabra/core'
import type { Network } from '../world/network.ts'
import type { ServerOptions } from './server-options.ts'
import { serverName, SimPeerNetwork, type PeerHost } from './sim-peer-network.ts'

/** What an ensemble asks of its servers beyond what a server on its own is asked. */
export interface EnsembleSettings {
  readonly self: bigint
  readonly members: number
  readonly initLimit: number
  readonly syncLimit: number
  /** How much of the history is kept in memory for learners that were away. */
  readonly commitLogCount: number
}

/** What the ensemble's watcher is told of one process. */
export interface EnsembleEvents {
  /** The epochs this life starts with. */
  epochs(epochs: Epochs, lastZxid: bigint): void
  /** Something became part of the applied history; whether as committed is not said here. */
  applied(zxid: bigint, payload: Uint8Array): void
  zab(event: ZabEvent): void
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

/** A server's part in its ensemble, put together as `@zabra/server` does it. */
export async function joinEnsemble(
  parts: {
    db: Database
    recovery: RecoveryOptions
    disk: Disk
    log: TxnLog
    committedLog: CommittedLog
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
  const { self, initLimit, syncLimit } = settings
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
      epochs,
      committedLog,
      host,
      network,
      zabTrace: (event) => events.zab(event),
      ports,
      wake,
    },
    {
      ...options.peer,
      self,
      membership: membershipOf(settings.members),
      initLimit,
      syncLimit,
      electionAddresses: [`${serverName(self)}:1`],
    },
    parts.clock(),
  )
  network.peer = peer
  return { peer, network }
}

function membershipOf(members: number): Membership {
  const servers = new Map<bigint, ServerSpec>()
  for (let id = 1n; id <= BigInt(members); id++) {
    const address = { host: serverName(id), quorumPort: 2888, electionPort: 3888 }
    servers.set(id, {
      addresses: [address],
      role: 'participant',
      client: undefined,
      secureClient: undefined,
    })
  }
  return { version: 0n, servers, hierarchy: undefined }
}
