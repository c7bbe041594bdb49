import { EnsemblePeer } from '../../src/peer/ensemble-peer.ts'
import { recordInto } from '../../src/peer/local-history.ts'
import { Journal } from '../../src/peer/journal.ts'
import type { BatchSource } from '../../src/peer/journal-options.ts'
import type { Host } from '../../src/ports.ts'
import { loadDatabase } from '../../src/storage/recovery/load.ts'
import { MemoryDisk } from '../../src/storage/disk/memory-disk.ts'
import { TxnLog } from '../../src/storage/log/txn-log.ts'
import { CommittedLog } from '../../src/storage/log/committed-log.ts'
import { Epochs } from '../../src/storage/epochs.ts'
import { parseMembership, type Membership } from '../../src/membership/membership.ts'
import type { ZabEvent } from '../../src/consensus/zab/options.ts'
import type { ServerId } from '../../src/membership/quorum.ts'
import type { TestEnsemble } from './ensemble.ts'
import { TestClient } from './test-client.ts'
import type { TestNetwork } from './test-network.ts'

const directory = 'data/version-2'
const directories = { snapshotDir: directory, logDir: directory }
const tickMs = 200

/** One server: its disk, and what runs on it. */
export class TestServer {
  readonly id: ServerId
  disk = new MemoryDisk({ forgetful: true })
  peer: EnsemblePeer | undefined
  epochs: Epochs | undefined
  readonly events: ZabEvent[] = []
  readonly failures: Error[] = []
  running: Promise<void> = Promise.resolve()
  private isTicking = true
  /** Its tree may differ from what transactions say. */
  mayDiffer = false
  /** Its data is gone, and it knows that. */
  lacksData = false
  private readonly world: TestEnsemble
  network: TestNetwork | undefined

  /** The content of its configuration file. */
  config: Membership

  constructor(world: TestEnsemble, id: ServerId, ownLine = '') {
    this.world = world
    this.id = id
    const parsed = parseMembership(`${world.text}\n${ownLine}\nversion=0`)
    if ('problem' in parsed) throw new Error(parsed.problem)
    this.config = parsed.value
  }

  /** Without a clock no limit is ever reached: it goes on believing what it believes. */
  set hasClock(hasClock: boolean) {
    this.isTicking = hasClock
    if (this.peer === undefined) return
    if (hasClock) Reflect.deleteProperty(this.peer, 'setTime')
    else this.peer.setTime = () => {}
  }

  get isUp(): boolean {
    return this.peer !== undefined
  }

  get isServing(): boolean {
    return this.peer?.isServing ?? false
  }

  get isLeading(): boolean {
    return this.isServing && this.peer!.state === 'leading'
  }

  get lastZxid(): string {
    const zxid = this.peer!.db.lastZxid
    return `${zxid >> 32n}.${zxid & 0xffffffffn}`
  }

  async start(): Promise<void> {
    const { world, disk, id } = this
    // Errors of a crashed server no longer matter.
    const failed = (error: Error): void => {
      if (this.disk === disk) this.failures.push(error)
    }
    const committedLog = new CommittedLog(500)
    const databaseOptions = {
      extendedTypes: true,
      digests: true,
      hashSeed: 1,
      acl: { skipAcl: world.skipAcl, schemes: new Set<string>() },
    }
    const remember = recordInto(committedLog)
    const { db } = await loadDatabase(disk, directories, databaseOptions, remember)
    const log = new TxnLog(disk, {
      directory,
      preAllocBytes: 0,
      lastZxid: db.lastZxid,
      extentDirectory: directory,
    })
    const epochs = (this.epochs = await Epochs.load(disk, directory, db.lastZxid))
    const network = (this.network = world.networkFor(id))
    const membership = this.config
    const turn = (work: () => void): void => {
      peer.setTime(world.nowMs, world.nowMs)
      work()
    }
    const peer = new EnsemblePeer(
      {
        db,
        lacksData: this.lacksData,
        databaseOptions,
        recovery: directories,
        disk,
        log,
        journal: (source) => this.journalOf({ source, log, turn }, failed),
        epochs,
        committedLog,
        host: hostOf(world),
        network,
        configStore: {
          saveSeen: () => Promise.resolve(),
          saveCommitted: async (config) => {
            if (this.disk === disk && config.servers.has(id)) this.config = config
          },
        },
        zabTrace: (event) => this.events.push(event),
        ports: {
          authenticator: { schemes: new Set(), authenticate: () => undefined },
          trace: (event) => {
            if (event.type === 'digestMismatch' && !this.mayDiffer)
              this.failures.push(new Error('digests differ'))
          },
        },
        wake: () => world.post(() => peer.hasBatch && peer.journal.batchReady()),
      },
      {
        self: id,
        membership,
        electionAddresses: [`s${id}:2`],
        tickMs,
        initLimit: 10,
        syncLimit: 5,
        serverId: Number(id),
        sessionTimeoutMsMin: 2 * tickMs,
        sessionTimeoutMsMax: 60_000,
        outstandingMax: 1000,
        frameBytesMax: 1024 * 1024,
        sessionlessTimeoutMs: 10_000,
        rules: { enforceQuota: false, reconfigEnabled: false, closeSessionPaths: true },
        reclaim: { checkIntervalMs: 60_000, perMinuteMax: 10_000, neverUsedMsMax: 0 },
        requiredSchemes: [],
        ...world.options,
      },
      { nowMs: world.nowMs, wallMs: world.nowMs },
    )
    network.peer = this.peer = peer
    this.running = peer.run().catch(failed)
  }

  get journal(): Journal | undefined {
    return this.peer?.journal
  }

  private journalOf(
    parts: { source: BatchSource; log: TxnLog; turn: (work: () => void) => void },
    failed: (error: Error) => void,
  ): Journal {
    const { world, disk } = this
    return new Journal(
      { ...parts, disk, host: hostOf(world), trace: () => {} },
      {
        ...directories,
        snapCount: 100_000,
        snapBytes: undefined,
        logBytesMax: undefined,
        slowSyncMs: Infinity,
        retainCount: 3,
        retainBytes: 0,
        purges: false,
        snapshotMethod: 'plain',
        compression: undefined,
      },
      failed,
    )
  }

  tick(): void {
    const { peer, journal } = this
    if (peer === undefined || !this.isTicking) return
    peer.setTime(this.world.nowMs, this.world.nowMs)
    peer.tick()
    if (peer.hasBatch) journal!.batchReady()
  }

  /** Power fails: what is not durable is gone, and the others see their connections end. */
  crash(): void {
    const { disk, peer } = this
    this.peer = undefined
    disk.crash()
    this.disk = disk.copy()
    // Whatever of the old process is still under way reaches nothing any more.
    disk.fault = () => 'EIO'
    this.network?.die()
    peer?.stop()
  }

  async stop(): Promise<void> {
    const { peer, network } = this
    let isStopped = false
    const stopping = peer!.finish().then(() => {
      peer!.stop()
      this.peer = undefined
      this.world.post(() => network!.die())
      return this.running
    })
    void stopping.then(() => (isStopped = true))
    await this.world.until('the server stops', () => isStopped, 1000)
  }

  async connect(options: Parameters<typeof TestClient.connect>[2] = {}): Promise<TestClient> {
    return TestClient.connect(this.world, this.peer!, options)
  }

  /** The paths of the applied state, without the server's own. */
  get paths(): string[] {
    const { tree } = this.peer!.db
    return [...tree.children(tree.find('/'))]
      .map((id) => tree.pathOf(id))
      .filter((path) => path !== '/zookeeper')
      .toSorted()
  }
}

function hostOf(world: TestEnsemble): Host {
  return {
    monotonicMs: () => world.nowMs,
    wallMs: () => world.nowMs,
    random: () => world.random(),
    delay: (ms) => world.delay(ms),
  }
}
