import * as fs from 'node:fs'
import { dirname } from 'node:path'
import {
  faultCode,
  type CreateOptions,
  type Disk,
  type FileEntry,
  type ReadHandle,
  type WriteHandle,
} from '@zabra/core'

const { O_CREAT, O_TRUNC, O_WRONLY } = fs.constants
/** O_DSYNC does not exist on every system; without it a durable write is a write and a sync. */
const O_DSYNC: number | undefined = (fs.constants as { O_DSYNC?: number }).O_DSYNC

/** The Disk port on real files. */
export class NodeDisk implements Disk {
  async list(directory: string): Promise<FileEntry[]> {
    const entries: FileEntry[] = []
    for (const entry of await fs.promises.readdir(directory, { withFileTypes: true })) {
      const isLink = entry.isSymbolicLink()
      if (!entry.isFile() && !isLink) continue
      try {
        const stats = await fs.promises.stat(`${directory}/${entry.name}`)
        if (stats.isFile()) entries.push({ name: entry.name, bytes: stats.size })
      } catch (error) {
        if (faultCode(error) !== 'ENOENT') throw error
        // A dangling link is listed, so that opening it reports the problem. A file that was
        // removed between the two calls is not listed.
        if (isLink) entries.push({ name: entry.name, bytes: 0 })
      }
    }
    return entries
  }

  async openRead(path: string): Promise<ReadHandle> {
    const file = await open(path, fs.constants.O_RDONLY)
    try {
      const { size } = await new Promise<fs.Stats>((resolve, reject) => {
        fs.fstat(file, (error, stats) => (error === null ? resolve(stats) : reject(error)))
      })
      return new NodeReadHandle(file, size)
    } catch (error) {
      await close(file)
      throw error
    }
  }

  async create(path: string, options: CreateOptions = {}): Promise<WriteHandle> {
    const durable = options.durableWrites ?? false
    const flags = O_WRONLY | O_CREAT | O_TRUNC | (durable ? (O_DSYNC ?? 0) : 0)
    const { permissionsOf } = options
    const mode =
      permissionsOf === undefined ? undefined : (await fs.promises.stat(permissionsOf)).mode
    const file = await open(path, flags, mode)
    return new NodeWriteHandle(file, durable && O_DSYNC === undefined)
  }

  async openWrite(path: string): Promise<WriteHandle> {
    return new NodeWriteHandle(await open(path, O_WRONLY), false)
  }

  async rename(from: string, to: string): Promise<void> {
    await fs.promises.rename(from, to)
  }

  async remove(path: string): Promise<void> {
    await fs.promises.rm(path, { force: true })
  }

  async syncDirectory(directory: string): Promise<void> {
    if (process.platform === 'win32') return // Directories cannot be opened there.
    const file = await open(directory, fs.constants.O_RDONLY)
    try {
      await new Promise<void>((resolve, reject) => {
        fs.fsync(file, (error) => (error === null ? resolve() : reject(error)))
      })
    } finally {
      await close(file)
    }
  }

  async makeDirectory(directory: string): Promise<void> {
    const first = await fs.promises.mkdir(directory, { recursive: true })
    if (first !== undefined) await this.syncDirectory(dirname(first))
  }
}

class NodeReadHandle implements ReadHandle {
  readonly bytes: number
  private readonly file: number

  constructor(file: number, bytes: number) {
    this.file = file
    this.bytes = bytes
  }

  async read(position: number, into: Uint8Array): Promise<number> {
    let done = 0
    while (done < into.length) {
      const count = await this.readSome(into, done, position + done)
      if (count === 0) break
      done += count
    }
    return done
  }

  close(): Promise<void> {
    return close(this.file)
  }

  private readSome(into: Uint8Array, offset: number, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.read(this.file, into, offset, into.length - offset, position, (error, count) => {
        if (error === null) resolve(count)
        else reject(error)
      })
    })
  }
}

class NodeWriteHandle implements WriteHandle {
  private readonly file: number
  private readonly syncAfterWrite: boolean

  constructor(file: number, syncAfterWrite: boolean) {
    this.file = file
    this.syncAfterWrite = syncAfterWrite
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    let done = 0
    while (done < bytes.length) done += await this.writeSome(bytes, done, position + done)
    if (this.syncAfterWrite) await this.sync()
  }

  writeNow(bytes: Uint8Array, position: number): void {
    let done = 0
    while (done < bytes.length) {
      done += fs.writeSync(this.file, bytes, done, bytes.length - done, position + done)
    }
    if (this.syncAfterWrite) fs.fdatasyncSync(this.file)
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fdatasync(this.file, (error) => (error === null ? resolve() : reject(error)))
    })
  }

  setSize(bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.ftruncate(this.file, bytes, (error) => (error === null ? resolve() : reject(error)))
    })
  }

  close(): Promise<void> {
    return close(this.file)
  }

  /** A disk that fills up accepts a part first, and fails the next call. */
  private writeSome(bytes: Uint8Array, offset: number, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.write(this.file, bytes, offset, bytes.length - offset, position, (error, count) => {
        if (error === null) resolve(count)
        else reject(error)
      })
    })
  }
}

function open(path: string, flags: number, mode = 0o644): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.open(path, flags, mode, (error, file) => (error === null ? resolve(file) : reject(error)))
  })
}

function close(file: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.close(file, (error) => (error == null ? resolve() : reject(error)))
  })
}
