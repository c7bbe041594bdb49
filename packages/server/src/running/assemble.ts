import { statSync } from 'node:fs'
import { join } from 'node:path'
import {
  CommittedLog,
  Journal,
  loadDatabase,
  Peer,
  recordInto,
  TxnLog,
  type Authenticator,
  type BatchSource,
  type Database,
  type DatabaseOptions,
  type Disk,
  type History,
  type HostPort,
  type JournalOptions,
  type PeerBase,
  type PeerPorts,
  type Recovered,
  type RecoveryOptions,
  type SessionPasswords,
  type TraceEvent,
} from '@zabra/core'
import type { AuditLog } from '../audit/audit-log.ts'
import { makeAuthenticator } from '../auth/authenticator.ts'
import { sessionPasswordsOf } from '../auth/session-passwords.ts'
import { logEntry, type EventLogger } from '../base/event-logger.ts'
import { nodeHost } from '../base/node-host.ts'
import type { ServerConfig } from '../config/config.ts'
import { zlibCompression as compression } from '../disk/zlib-compression.ts'
import { IdlePoll } from '../net/idle-poll.ts'
import { Turn } from '../net/turn.ts'
import type { TlsContexts } from '../tls/tls-contexts.ts'
import type { ServerView } from '../view/server-view.ts'
import { explainEnd, noVerdicts, type VerdictCounts } from '../view/session-end.ts'
import { describeRecovery } from './describe-recovery.ts'
import { describeJournal, describeTrace } from './describe-trace.ts'
import { historyRetention, openHistory } from './history.ts'
import { joinEnsemble, type JoinedEnsemble } from './ensemble.ts'
import { databaseOptions, journalOptions, peerOptions, txnBytesMax } from './options.ts'

const formatFolder = 'version-2'
/** Most clients have reconnected by this time after a start. */
const calmAfterMs = 10_000

/** The inputs of a server, besides its configuration. */
export interface Resources {
  readonly disk: Disk
  /** Where changes of the membership are saved; undefined if they are not. */
  readonly configFile: string | undefined
  /** Limited in rate, since clients can cause these lines. */
  readonly logger: EventLogger
  /** Not limited, for lines that only the start causes. */
  readonly startLogger: EventLogger
  readonly tls: TlsContexts
  readonly audit: AuditLog | undefined
  /** A change of configuration moves this server's client port. */
  readonly clientMoved: (address: HostPort) => void
  /** The server cannot continue. */
  readonly fail: (error: Error) => void
}

/** The parts of a server that has loaded its data and has no port open yet. */
export interface Parts {
  readonly peer: PeerBase
  readonly ensemble: JoinedEnsemble | undefined
  readonly turn: Turn
  readonly journal: Journal
  readonly directories: Pick<JournalOptions, 'snapshotDir' | 'logDir'>
  readonly authenticator: Authenticator
  readonly passwords: SessionPasswords
  readonly dbOptions: DatabaseOptions
  readonly history: History | undefined
  readonly expiredBy: VerdictCounts
  readonly startup: ServerView['startup']
}

/** Loads the data directory and connects peer, journal and ensemble. */
export async function assembleServer(config: ServerConfig, resources: Resources): Promise<Parts> {
  const { disk, logger, startLogger } = resources
  const directories = {
    snapshotDir: join(config.dataDir, formatFolder),
    logDir: join(config.dataLogDir, formatFolder),
  }
  const authenticator = authenticatorOf(config)
  const dbOptions = databaseOptions(config, authenticator.schemes)
  const data = await loadData(config, resources, directories, dbOptions)
  const { db, log, recovered, startup } = data
  const passwords = sessionPasswordsOf(config.sessionPasswords, logger)
  const expiredBy = noVerdicts()
  const running = await connectParts(config, resources, {
    ...data,
    directories,
    dbOptions,
    ports: { authenticator, passwords, trace: tracer(logger, expiredBy) },
  })
  const { peer, journal, turn } = running
  turn.setTime()
  if (peer instanceof Peer) peer.dropOrphans()
  turn.schedule()
  nameLastSnapshot(journal, recovered, directories)
  snapshotAfterStart(journal, recovered, config)
  // A learner may have applied transactions that its own log does not have yet.
  const durable = (): bigint => (log.lastZxid < db.lastZxid ? log.lastZxid : db.lastZxid)
  const history = openHistory(config, disk, directories, startLogger, durable)
  return {
    ...running,
    directories,
    authenticator,
    passwords,
    dbOptions,
    history,
    expiredBy,
    startup,
  }
}

/** The content of the data directory. */
interface LoadedData {
  readonly db: Database
  readonly log: TxnLog
  readonly committedLog: CommittedLog
  readonly recovery: RecoveryOptions
  readonly recovered: Recovered<unknown>
  readonly startup: Parts['startup']
}

async function loadData(
  config: ServerConfig,
  { disk, startLogger }: Resources,
  directories: Parts['directories'],
  dbOptions: DatabaseOptions,
): Promise<LoadedData> {
  const recovery = recoveryOptions(config, directories, startLogger)
  const committedLog = new CommittedLog(config.ensemble?.commitLogCount)
  const remember = config.ensemble === undefined ? undefined : recordInto(committedLog)
  const loadStarted = performance.now()
  const { db, recovered } = await loadDatabase(disk, recovery, dbOptions, remember)
  const loadMs = performance.now() - loadStarted
  const log = new TxnLog(disk, {
    directory: directories.logDir,
    preAllocBytes: config.preAllocBytes,
    forceSync: config.forceSync,
    lastZxid: db.lastZxid,
    extentDirectory: directories.snapshotDir,
  })
  if (recovered.lacksData) log.keepExtent()
  const startup = { loadMs, recordsReplayed: recovered.recordsReplayed }
  return { db, log, committedLog, recovery, recovered, startup }
}

/** Creates peer, journal and turn, which need each other, and joins the ensemble if there is one. */
async function connectParts(
  config: ServerConfig,
  { disk, configFile, logger, tls, audit, clientMoved, fail }: Resources,
  parts: LoadedData & {
    readonly directories: Parts['directories']
    readonly dbOptions: DatabaseOptions
    readonly ports: Pick<PeerPorts, 'authenticator' | 'passwords' | 'trace'>
  },
): Promise<Pick<Parts, 'peer' | 'ensemble' | 'journal' | 'turn'>> {
  const { db, log, committedLog, recovery, recovered, directories, dbOptions } = parts
  const ports: PeerPorts = {
    ...parts.ports,
    auditor: audit,
    startLog: () => journal.batchReady(),
  }
  const makeJournal = (source: BatchSource): Journal =>
    new Journal(
      {
        source,
        log,
        disk,
        host: nodeHost,
        trace: (event) => {
          logEntry(logger, describeJournal(event, config.ensemble !== undefined))
        },
        turn: (work) => turn.run(work),
      },
      { ...journalOptions(config, directories), history: historyRetention(config, disk) },
      fail,
    )
  const clock = { nowMs: Math.floor(performance.now()), wallMs: Date.now() }
  const ensemble =
    config.ensemble &&
    (await joinEnsemble(
      {
        db,
        lacksData: recovered.lacksData,
        databaseOptions: dbOptions,
        recovery,
        disk,
        log,
        journal: makeJournal,
        committedLog,
        ports,
        wake: () => turn.schedule(),
        turn: () => turn,
        clientMoved,
        logger,
      },
      {
        ...peerOptions(config),
        ensemble: config.ensemble,
        security: { tls: config.quorumTls, tlsContext: tls.servers, sasl: config.sasl.quorum },
        configFile,
      },
      clock,
    ))
  const peer = ensemble?.peer ?? new Peer(db, peerOptions(config), ports, clock)
  const journal = ensemble?.peer.journal ?? makeJournal(peer)
  const idlePoll = new IdlePoll(config.idlePollMicros, {
    nowMs: () => performance.now(),
    soon: setImmediate,
    isAwaited: () => journal.isWriting || peer.outstandingRequests > 0,
  })
  const turn = new Turn(peer, () => journal.batchReady(), idlePoll)
  return { peer, ensemble, journal, turn }
}

/** Monitoring shows the snapshot that was loaded as the last one taken. */
function nameLastSnapshot(
  { stats }: Journal,
  { snapshotFile, snapshotZxid }: Recovered<unknown>,
  { snapshotDir }: Parts['directories'],
): void {
  if (snapshotFile === undefined) return
  stats.lastSnapshotZxid = snapshotZxid
  stats.lastSnapshotWallMs = changedAt(`${snapshotDir}/${snapshotFile}`)
}

/** Takes a snapshot if the next start needs one, or would be much quicker with one. */
function snapshotAfterStart(
  journal: Journal,
  { snapshotFile, isFresh, damageAccepted, recordsReplayed }: Recovered<unknown>,
  { snapCount }: ServerConfig,
): void {
  // Recovery had to trust that nothing preceded the logs.
  const isWithoutSnapshot = snapshotFile === undefined && !isFresh
  if (damageAccepted || isWithoutSnapshot) void journal.snapshot()
  else if (recordsReplayed > snapCount / 2) void journal.snapshotAfter(calmAfterMs)
}

function authenticatorOf(config: ServerConfig): Authenticator {
  return makeAuthenticator({
    digestEnabled: config.digestAuthEnabled,
    digestAlgorithm: config.digestAlgorithm,
    superDigest: config.superDigest,
    providers: config.authProviders,
    sasl: config.sasl,
    ensembleNames: config.ensembleAuthNames,
  })
}

function recoveryOptions(
  config: ServerConfig,
  { snapshotDir, logDir }: Parts['directories'],
  logger: EventLogger,
): RecoveryOptions {
  return {
    snapshotDir,
    logDir,
    compression,
    trustEmptySnapshot: config.trustEmptySnapshot,
    acceptDamage: config.acceptDamage,
    recordBytesMax: txnBytesMax(config),
    whenEmpty: {
      isUnexpected: !config.autoCreateDb,
      permission: { directory: config.dataLogDir, name: 'initialize' },
    },
    othersHaveIt: config.ensemble !== undefined,
    trace(event) {
      logEntry(logger, describeRecovery(event))
    },
  }
}

/** In memory, files are as old as the server. */
function changedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
}

function tracer(logger: EventLogger, expiredBy: VerdictCounts): (event: TraceEvent) => void {
  return (event) => {
    if (event.type === 'sessionEnded' && event.end.isExpired) {
      expiredBy[explainEnd(event.end).verdict]++
    }
    const entry = describeTrace(event)
    if (entry !== undefined) logEntry(logger, entry)
  }
}
