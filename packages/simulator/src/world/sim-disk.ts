import { MemoryDisk, type Disk, type DiskCall, type Tear, type WriteHandle } from '@zabra/core'
import type { Random } from './random.ts'
import type { World } from './world.ts'

const sectorBytes = 512

/** The faults and the slowness of a disk. */
export interface DiskCondition {
  /** Every call takes this many times longer. */
  slowness: number
  /** The same for writing to snapshots alone. */
  snapshotSlowness: number
  isFull: boolean
  /** The next sync fails, and everything unsynced may be lost. */
  failsNextSync: boolean
  /** The probability that a read returns a flipped bit. */
  flipChance: number
  /** After this many more calls, the machine crashes in the middle of one. */
  callsUntilCrash: number
  /** Only calls of this kind count for that. */
  crashesAt: DiskCall | undefined
  /**
   * Like `crashAtKind`, once a leader begins to send it a snapshot; from `takeoverLost` on it loses
   * the leader.
   */
  crashesInTakeover: number | undefined
  /** Whether the directory of the configuration file refuses all files, or only that file. */
  configRefuses: 'everything' | 'pointer' | undefined
  /** The next call of this kind fails, with or without an effect. */
  failsNext: { readonly kind: DiskCall; readonly hasEffect: boolean } | undefined
}

export const takeoverLost = 12
/** When a tree from a leader is stored, and the removal of the old files is not yet durable. */
export const crashAtSync = 10.1

/** The integer part selects the kind of call, the fraction how many such calls succeed first. */
export function crashAtKind(condition: DiskCondition, amount: number): void {
  condition.crashesAt = callAt(amount)
  condition.callsUntilCrash = 1 + Math.round((amount % 1) * 10)
}

const diskCalls: readonly DiskCall[] = [
  'list',
  'openRead',
  'read',
  'create',
  'openWrite',
  'write',
  'sync',
  'setSize',
  'rename',
  'remove',
  'syncDirectory',
  'makeDirectory',
]

export function callAt(amount: number): DiskCall {
  return diskCalls[Math.min(diskCalls.length - 1, Math.floor(amount))]!
}

interface Call {
  readonly kind: DiskCall
  readonly path: string
  /** The effect that still happens when the process is killed, and may happen when power fails. */
  readonly effect: () => Promise<unknown>
}

/** A disk that outlives its server; any crash loses what was not synced. */
export class SimDisk {
  files = new MemoryDisk({ forgetful: true })
  readonly condition: DiskCondition = {
    slowness: 1,
    snapshotSlowness: 1,
    isFull: false,
    failsNextSync: false,
    flipChance: 0,
    callsUntilCrash: Infinity,
    crashesAt: undefined,
    crashesInTakeover: undefined,
    configRefuses: undefined,
    failsNext: undefined,
  }
  /** Called before a file is removed. */
  onRemove: ((path: string) => Promise<void>) | undefined
  /** Called when `callsUntilCrash` reaches 0, during this call. */
  onCrashPoint: ((call: DiskCall, path: string) => void) | undefined
  /** A call has taken effect. */
  onDone: ((call: DiskCall, path: string) => void) | undefined
  flips = 0
  failedSyncs = 0
  refusedForSpace = 0
  refusedForConfig = 0
  failedCalls = 0
  calls = 0
  /** Where the last write to each log begins. */
  readonly lastWrites = new Map<string, number>()
  readonly inFlight = new Set<Call>()
  readonly world: World
  private readonly random: Random

  constructor(world: World, random: Random) {
    this.world = world
    this.random = random
  }

  /** How often it behaved wrongly. */
  get faults(): number {
    return this.flips + this.failedSyncs + this.refusedForSpace + this.failedCalls
  }

  /** The disk for one process: every call takes time, and returns only while the process lives. */
  mount(enter: (work: () => void) => void): Disk {
    const { files } = this
    const call = <T>(kind: DiskCall, path: string, effect: () => Promise<T>): Promise<T> =>
      this.call(enter, kind, path, effect)
    return {
      list: (directory) => call('list', directory, () => files.list(directory)),
      openRead: async (path) => {
        const handle = await call('openRead', path, () => files.openRead(path))
        return {
          bytes: handle.bytes,
          read: (position, into) =>
            call('read', path, async () => {
              const count = await handle.read(position, into)
              if (hasChecksum(path)) this.flipBit(into, count)
              return count
            }),
          close: () => handle.close(),
        }
      },
      create: async (path, options = {}) => {
        const isDurable = options.durableWrites ?? false
        const handle = await call('create', path, async () => {
          this.refuseWhenFull()
          this.refuseConfig(path)
          return files.create(path)
        })
        return this.writeHandle(call, path, handle, isDurable)
      },
      openWrite: async (path) => {
        const handle = await call('openWrite', path, () => files.openWrite(path))
        return this.writeHandle(call, path, handle, false)
      },
      rename: (from, to) =>
        call('rename', from, () => {
          const at = this.lastWrites.get(from)
          if (at !== undefined) this.lastWrites.set(to, at)
          return files.rename(from, to)
        }),
      remove: (path) =>
        call('remove', path, async () => {
          await this.onRemove?.(path)
          await files.remove(path)
        }),
      syncDirectory: (directory) =>
        call('syncDirectory', directory, async () => {
          this.failIfDue()
          await files.syncDirectory(directory)
        }),
      makeDirectory: (directory) =>
        call('makeDirectory', directory, () => files.makeDirectory(directory)),
    }
  }

  /** Replaces the disk by an empty one. */
  replace(): void {
    this.inFlight.clear()
    this.lastWrites.clear()
    this.files = new MemoryDisk({ forgetful: true })
  }

  /** The process has ended; the kernel completes pending calls. */
  kill(): void {
    for (const { effect } of this.inFlight) effect().catch(() => {})
    this.inFlight.clear()
  }

  /** Power fails: pending calls happen in part, and nothing unsynced is certain. */
  losePower(): void {
    const { random } = this
    for (const { effect } of this.inFlight) {
      if (random.chance(0.5)) effect().catch(() => {})
    }
    this.inFlight.clear()
    const style = random.pick(['nothing', 'sectors', 'prefix', 'everything'] as const)
    const nameChance = random.pick([0, 0.5, 1])
    this.files.crash(tearOf(style, random), () => random.chance(nameChance))
  }

  private writeHandle(
    call: <T>(kind: DiskCall, path: string, effect: () => Promise<T>) => Promise<T>,
    path: string,
    handle: WriteHandle,
    isDurable: boolean,
  ): WriteHandle {
    return {
      write: async (bytes, position) => {
        // Not copied before the effect, to detect a caller that changes the bytes in the meantime.
        await call('write', path, async () => {
          if (this.condition.isFull) {
            await handle.write(bytes.subarray(0, this.random.between(0, bytes.length)), position)
            this.refuseWhenFull()
          }
          if (isLog(path) && bytes.length < fillBytes) this.lastWrites.set(path, position)
          await handle.write(bytes, position)
        })
        if (isDurable) await call('sync', path, () => this.sync(path, handle))
      },
      sync: () => call('sync', path, () => this.sync(path, handle)),
      setSize: (bytes) => call('setSize', path, () => handle.setSize(bytes)),
      close: () => handle.close(),
    }
  }

  private async sync(path: string, handle: WriteHandle): Promise<void> {
    if (this.condition.failsNextSync) this.files.forgetDirty(path)
    this.failIfDue()
    await handle.sync()
  }

  private call<T>(
    enter: (work: () => void) => void,
    kind: DiskCall,
    path: string,
    work: () => Promise<T>,
  ): Promise<T> {
    const effect = async (): Promise<T> => {
      const fails = this.takeFailure(kind)
      if (fails?.hasEffect === false) throw fault('EIO')
      const value = await work()
      if (fails !== undefined) throw fault('EIO')
      this.onDone?.(kind, path)
      return value
    }
    return new Promise<T>((resolve, reject) => {
      enter(() => {
        this.calls++
        const entry: Call = { kind, path, effect }
        this.inFlight.add(entry)
        const { crashesAt = kind } = this.condition
        if (crashesAt === kind && --this.condition.callsUntilCrash <= 0) {
          this.condition.callsUntilCrash = Infinity
          this.condition.crashesAt = undefined
          this.onCrashPoint?.(kind, path)
          return
        }
        this.world.after(this.delayMs(kind, path), () => {
          if (!this.inFlight.delete(entry)) return
          effect().then(
            (value) => enter(() => resolve(value)),
            (error: unknown) => enter(() => reject(error as Error)),
          )
        })
      })
    })
  }

  private delayMs(kind: DiskCall, path: string): number {
    const { slowness, snapshotSlowness } = this.condition
    const isSnapshot = kind === 'write' && path.includes('new.snapshot.')
    const isSync = kind === 'sync' || kind === 'syncDirectory'
    return (
      (isSync ? 1 + this.random.next() * 4 : this.random.next() * 0.3) *
      (isSnapshot ? slowness * snapshotSlowness : slowness)
    )
  }

  private takeFailure(kind: DiskCall): DiskCondition['failsNext'] {
    const { failsNext } = this.condition
    if (failsNext?.kind !== kind) return undefined
    this.condition.failsNext = undefined
    this.failedCalls++
    return failsNext
  }

  private refuseWhenFull(): void {
    if (!this.condition.isFull) return
    this.refusedForSpace++
    throw fault('ENOSPC')
  }

  /** No fault that stops a server: who the members are is in the log as well. */
  private refuseConfig(path: string): void {
    const { configRefuses } = this.condition
    if (configRefuses === undefined || !path.startsWith('/conf/')) return
    if (configRefuses === 'pointer' && path !== '/conf/zoo.cfg.tmp') return
    this.refusedForConfig++
    throw fault('EROFS')
  }

  private failIfDue(): void {
    if (!this.condition.failsNextSync) return
    this.condition.failsNextSync = false
    this.failedSyncs++
    throw fault('EIO')
  }

  private flipBit(bytes: Uint8Array, count: number): void {
    if (count === 0 || !this.random.chance(this.condition.flipChance)) return
    this.flips++
    const at = this.random.between(0, count - 1)
    bytes[at]! ^= 1 << this.random.between(0, 7)
  }
}

function tearOf(
  style: 'nothing' | 'sectors' | 'prefix' | 'everything',
  random: Random,
): Tear | undefined {
  switch (style) {
    case 'nothing':
      return undefined
    case 'everything':
      return (_path, bytes) => [[0, bytes.length]]
    case 'prefix':
      return (_path, bytes) => [[0, random.between(0, bytes.length)]]
    case 'sectors':
      return (_path, bytes, position) => {
        const ranges: [number, number][] = []
        const end = position + bytes.length
        for (let at = position; at < end;) {
          const next = Math.min(end, (Math.floor(at / sectorBytes) + 1) * sectorBytes)
          if (random.chance(0.5)) ranges.push([at - position, next - position])
          at = next
        }
        return ranges
      }
  }
}

function fault(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code })
}

/** Logs are filled ahead of their records in pieces of this size. */
const fillBytes = 1024 * 1024

function isLog(path: string): boolean {
  return /\/(new\.)?log\.[0-9a-f]+$/.test(path)
}

/** Logs and snapshots have one; the epoch files and zoo.cfg, which Apache defined, do not. */
function hasChecksum(path: string): boolean {
  return !path.includes('Epoch') && !path.includes('zoo.cfg')
}
