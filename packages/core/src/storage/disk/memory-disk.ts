import type { CreateOptions, Disk, FileEntry, ReadHandle, WriteHandle } from '../../ports.ts'

/** The calls of a disk that can be made to fail. */
export type DiskCall =
  | 'list'
  | 'openRead'
  | 'read'
  | 'create'
  | 'openWrite'
  | 'write'
  | 'sync'
  | 'setSize'
  | 'rename'
  | 'remove'
  | 'syncDirectory'
  | 'makeDirectory'

export interface MemoryDiskOptions {
  /** Remembers what is not durable yet, for `crash`; costs a copy of everything written. */
  readonly forgetful?: boolean
  /** Asked before every call: a code ('ENOSPC', 'EIO') makes it fail. */
  readonly fault?: (call: DiskCall, path: string) => string | undefined
  /** How many bytes all files together may take; without it there is no bound. */
  readonly bytesMax?: number
}

/** Decides which ranges of a write that was not durable survive a crash. */
export type Tear = (
  path: string,
  bytes: Uint8Array,
  position: number,
) => readonly (readonly [from: number, to: number])[]

/** Files in memory: the storage of a server that keeps nothing, and the disk of tests. */
export class MemoryDisk implements Disk {
  /** The files by name now, and after a crash. */
  private names = new Map<string, MemoryFile>()
  private durableNames = new Map<string, MemoryFile>()
  private readonly directories = new Set<string>()
  private readonly forgetful: boolean
  private readonly bytesMax: number
  fault: ((call: DiskCall, path: string) => string | undefined) | undefined
  /** While there is one, nothing that is written to logs gets further. */
  stall: Promise<void> | undefined

  constructor(options: MemoryDiskOptions = {}) {
    this.forgetful = options.forgetful ?? false
    this.bytesMax = options.bytesMax ?? Infinity
    this.fault = options.fault
  }

  async list(directory: string): Promise<FileEntry[]> {
    this.check('list', directory)
    if (!this.directories.has(directory)) throw faultOf('ENOENT', 'list', directory)
    const entries: FileEntry[] = []
    for (const [path, file] of this.names) {
      const slash = path.lastIndexOf('/')
      if (path.slice(0, slash) === directory) {
        entries.push({ name: path.slice(slash + 1), bytes: file.size })
      }
    }
    return entries
  }

  async openRead(path: string): Promise<ReadHandle> {
    this.check('openRead', path)
    const file = this.find(path, 'openRead')
    return {
      bytes: file.size,
      read: async (position, into) => {
        this.check('read', path)
        return file.read(position, into)
      },
      close: async () => {},
    }
  }

  async create(path: string, options: CreateOptions = {}): Promise<WriteHandle> {
    this.check('create', path)
    const directory = path.slice(0, path.lastIndexOf('/'))
    if (!this.directories.has(directory)) throw faultOf('ENOENT', 'create', path)
    let file = this.names.get(path)
    if (file === undefined) this.names.set(path, (file = new MemoryFile(this.forgetful)))
    else file.setSize(0)
    return this.writeHandle(path, file, options.durableWrites ?? false)
  }

  async openWrite(path: string): Promise<WriteHandle> {
    this.check('openWrite', path)
    return this.writeHandle(path, this.find(path, 'openWrite'), false)
  }

  async rename(from: string, to: string): Promise<void> {
    this.check('rename', from)
    const file = this.find(from, 'rename')
    this.names.delete(from)
    this.names.set(to, file)
  }

  async remove(path: string): Promise<void> {
    this.check('remove', path)
    this.names.delete(path)
  }

  async syncDirectory(directory: string): Promise<void> {
    this.check('syncDirectory', directory)
    const within = (path: string): boolean => path.slice(0, path.lastIndexOf('/')) === directory
    for (const path of this.durableNames.keys()) {
      if (within(path) && !this.names.has(path)) this.durableNames.delete(path)
    }
    for (const [path, file] of this.names) if (within(path)) this.durableNames.set(path, file)
  }

  async makeDirectory(directory: string): Promise<void> {
    this.check('makeDirectory', directory)
    let path = directory
    while (path !== '' && !this.directories.has(path)) {
      this.directories.add(path)
      path = path.slice(0, Math.max(0, path.lastIndexOf('/')))
    }
  }

  /**
   * Power fails: of names that were not synced only those that `keepsName` says survive, and of
   * every write that was not synced only what `tear` says (nothing, where they are not given).
   */
  crash(tear?: Tear, keepsName: (path: string) => boolean = () => false): void {
    if (!this.forgetful) throw new Error('only a forgetful disk can crash')
    const survivors = new Map(this.durableNames)
    for (const path of new Set([...this.names.keys(), ...this.durableNames.keys()])) {
      const file = this.names.get(path)
      if (file === this.durableNames.get(path) || !keepsName(path)) continue
      if (file === undefined) survivors.delete(path)
      else survivors.set(path, file)
    }
    this.names = survivors
    this.durableNames = new Map(survivors)
    for (const [path, file] of this.names) file.crash(path, tear)
  }

  /**
   * A sync failed: what was written is still read, but the system takes it for clean, so that no
   * later sync makes it durable.
   */
  forgetDirty(path: string): void {
    this.names.get(path)?.forgetDirty()
  }

  /** Another disk with the same files, all of them durable. */
  copy(): MemoryDisk {
    const copy = new MemoryDisk({ forgetful: this.forgetful })
    for (const directory of this.directories) copy.directories.add(directory)
    for (const [path, file] of this.names) copy.names.set(path, file.copy())
    copy.durableNames = new Map(copy.names)
    return copy
  }

  /** Another disk with what would be left if power failed now: nothing that was not synced. */
  afterCrash(keeps: (path: string) => boolean = () => true): MemoryDisk {
    const left = new MemoryDisk({ forgetful: this.forgetful })
    for (const directory of this.directories) left.directories.add(directory)
    for (const [path, file] of this.durableNames) {
      if (keeps(path)) left.names.set(path, file.durableCopy())
    }
    left.durableNames = new Map(left.names)
    return left
  }

  /**
   * Stands for what the files hold that `counts` says: two disks with the same state hold the same.
   */
  state(counts: (path: string) => boolean): string {
    const parts: string[] = []
    for (const [path, file] of this.names) if (counts(path)) parts.push(`${path} ${file.identity}`)
    return parts.toSorted().join()
  }

  has(path: string): boolean {
    return this.names.has(path)
  }

  /** The content of a file after a crash; undefined if it would not exist. */
  durableContent(path: string): Uint8Array | undefined {
    return this.durableNames.get(path)?.durableBytes()
  }

  /** The content of a file, for tests. */
  content(path: string): Uint8Array {
    const file = this.find(path, 'openRead')
    const bytes = new Uint8Array(file.size)
    file.read(0, bytes)
    return bytes
  }

  /** Puts a durable file in place, for tests. */
  async put(path: string, bytes: Uint8Array): Promise<void> {
    const directory = path.slice(0, path.lastIndexOf('/'))
    await this.makeDirectory(directory)
    const handle = await this.create(path)
    await handle.write(bytes, 0)
    await handle.sync()
    await this.syncDirectory(directory)
  }

  get bytes(): number {
    let sum = 0
    for (const file of this.names.values()) sum += file.stored
    return sum
  }

  private writeHandle(path: string, file: MemoryFile, durable: boolean): WriteHandle {
    return {
      write: async (bytes, position) => {
        if (this.stall !== undefined && path.includes('log.')) await this.stall
        this.check('write', path)
        const growth = Math.max(0, position + bytes.length - file.stored)
        if (growth > 0 && this.bytes + growth > this.bytesMax) {
          // A real disk takes what fits before it refuses.
          const room = Math.max(0, bytes.length - (this.bytes + growth - this.bytesMax))
          file.write(bytes.subarray(0, room), position)
          throw faultOf('ENOSPC', 'write', path)
        }
        file.write(bytes, position)
        if (!durable) return
        this.check('sync', path)
        file.sync()
      },
      sync: async () => {
        this.check('sync', path)
        file.sync()
      },
      setSize: async (size) => {
        this.check('setSize', path)
        file.setSize(size)
      },
      close: async () => {},
    }
  }

  private find(path: string, call: DiskCall): MemoryFile {
    const file = this.names.get(path)
    if (file === undefined) throw faultOf('ENOENT', call, path)
    return file
  }

  private check(call: DiskCall, path: string): void {
    const code = this.fault?.(call, path)
    if (code !== undefined) throw faultOf(code, call, path)
  }
}

type Change = { readonly position: number; readonly bytes: Uint8Array } | { readonly size: number }

class MemoryFile {
  private content = new Content()
  /** The durable content, and the writes since. */
  private durable: Content | undefined
  private changes: Change[] = []
  /** With its changes, what is durable comes to what is there. */
  private isWhole = true

  constructor(forgetful: boolean) {
    if (forgetful) this.durable = new Content()
  }

  get size(): number {
    return this.content.size
  }

  get stored(): number {
    return this.content.stored
  }

  get identity(): number {
    return this.content.identity
  }

  durableBytes(): Uint8Array {
    const from = this.durable ?? this.content
    const bytes = new Uint8Array(from.size)
    from.read(0, bytes)
    return bytes
  }

  copy(): MemoryFile {
    const copy = new MemoryFile(this.durable !== undefined)
    copy.content = this.content.copy()
    if (copy.durable !== undefined) copy.durable = this.content.copy()
    return copy
  }

  durableCopy(): MemoryFile {
    if (this.durable === undefined) return this.copy()
    const copy = new MemoryFile(true)
    copy.content = this.durable.copy()
    copy.durable = this.durable.copy()
    return copy
  }

  read(position: number, into: Uint8Array): number {
    return this.content.read(position, into)
  }

  write(bytes: Uint8Array, position: number): void {
    if (this.durable !== undefined) this.changes.push({ position, bytes: new Uint8Array(bytes) })
    this.content.write(bytes, position)
  }

  setSize(size: number): void {
    if (this.durable !== undefined) this.changes.push({ size })
    this.content.setSize(size)
  }

  sync(): void {
    for (const change of this.changes) {
      if ('size' in change) this.durable?.setSize(change.size)
      else this.durable?.write(change.bytes, change.position)
    }
    this.changes = []
    if (this.isWhole && this.durable !== undefined) this.durable.identity = this.content.identity
  }

  forgetDirty(): void {
    if (this.changes.length > 0) this.isWhole = false
    this.changes = []
  }

  crash(path: string, tear?: Tear): void {
    const { durable } = this
    if (durable === undefined) return
    for (const change of tear === undefined ? [] : this.changes) {
      if ('size' in change) {
        durable.setSize(change.size)
        continue
      }
      const { bytes, position } = change
      for (const [from, to] of tear?.(path, bytes, position) ?? []) {
        if (to > from) durable.write(bytes.subarray(from, to), position + from)
      }
    }
    this.changes = []
    this.isWhole = true
    this.content = durable.copy()
  }
}

let contents = 0

/**
 * Bytes that grow on demand; what lies between `stored` and `size` are zeros nobody keeps. A copy
 * shares the bytes until one of the two changes what both hold.
 */
class Content {
  size = 0
  stored = 0
  /** Two contents with the same identity hold the same. */
  identity = 0
  private buffer = noBytes
  /** Others look at the buffer: up to `stored` it may not change. */
  private isLent = false
  /** The buffer is another one's, and may not change at all. */
  private isBorrowed = false

  read(position: number, into: Uint8Array): number {
    const count = Math.max(0, Math.min(into.length, this.size - position))
    const kept = Math.max(0, Math.min(count, this.stored - position))
    if (kept > 0) into.set(this.buffer.subarray(position, position + kept))
    if (kept < count) into.fill(0, kept, count)
    return count
  }

  write(bytes: Uint8Array, position: number): void {
    const end = position + bytes.length
    if (end <= this.stored && this.holds(bytes, position)) return
    this.identity = ++contents
    const isShared = this.isBorrowed || (this.isLent && position < this.stored)
    if (end > this.buffer.length) this.reallocate(Math.max(end, this.buffer.length * 2))
    else if (isShared) this.reallocate(this.buffer.length)
    // Bytes that were cut off or skipped may hold data of an older content.
    if (position > this.stored) this.buffer.fill(0, this.stored, position)
    this.buffer.set(bytes, position)
    this.stored = Math.max(this.stored, end)
    this.size = Math.max(this.size, end)
  }

  setSize(size: number): void {
    if (size === this.size) return
    this.identity = ++contents
    this.size = size
    if (size >= this.stored) return
    if (this.isLent || this.isBorrowed) this.reallocate(this.buffer.length)
    this.buffer.fill(0, size, this.stored)
    this.stored = size
  }

  copy(): Content {
    const copy = new Content()
    copy.buffer = this.buffer
    copy.stored = this.stored
    copy.size = this.size
    copy.identity = this.identity
    copy.isBorrowed = true
    this.isLent = true
    return copy
  }

  private holds(bytes: Uint8Array, position: number): boolean {
    const { buffer } = this
    for (let i = 0; i < bytes.length; i++) if (bytes[i] !== buffer[position + i]) return false
    return true
  }

  private reallocate(bytes: number): void {
    const own = new Uint8Array(bytes)
    own.set(this.buffer.subarray(0, this.stored))
    this.buffer = own
    this.isLent = this.isBorrowed = false
  }
}

const noBytes = new Uint8Array(0)

function faultOf(code: string, call: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${call} ${path}`), { code })
}
