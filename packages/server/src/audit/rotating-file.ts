import { open, rename, rm, type FileHandle } from 'node:fs/promises'
import type { EventLogger } from '../base/event-logger.ts'

export interface RotationOptions {
  readonly file: string
  /** A file that exceeds this size is renamed; 0 is no limit. */
  readonly bytesMax: number
  /** How many renamed files are kept. */
  readonly filesMax: number
}

/** Limit of bytes waiting to be written, so that a hanging disk does not exhaust memory. */
const waitingBytesMax = 64 * 1024 * 1024

/** Appends lines to a file in order, in the background. */
export class RotatingFile {
  /** Lines that could not be written. */
  lost = 0
  private readonly options: RotationOptions
  private readonly logger: EventLogger
  private waiting: string[] = []
  private waitingBytes = 0
  private handle: FileHandle | undefined
  private bytes = 0
  private writing: Promise<void> | undefined
  private hasFailed = false

  /** Opens the file, so that problems with it appear at the start. */
  static async open(options: RotationOptions, logger: EventLogger): Promise<RotatingFile> {
    const file = new RotatingFile(options, logger)
    await file.reopen()
    return file
  }

  private constructor(options: RotationOptions, logger: EventLogger) {
    this.options = options
    this.logger = logger
  }

  append(line: string): void {
    if (this.waitingBytes > waitingBytesMax) {
      this.lost++
      return
    }
    this.waiting.push(line)
    this.waitingBytes += line.length
    this.writing ??= this.writeAll().finally(() => (this.writing = undefined))
  }

  /** Resolves once everything is written. */
  async close(): Promise<void> {
    await this.writing
    await this.handle?.close()
    this.handle = undefined
  }

  private async writeAll(): Promise<void> {
    // Lines of one turn are written together.
    await new Promise(setImmediate)
    while (this.waiting.length > 0) {
      const lines = this.waiting
      this.waiting = []
      this.waitingBytes = 0
      try {
        for (const part of this.parts(lines)) await this.write(part)
        if (this.hasFailed) this.logger.info('audit: writing again', { file: this.options.file })
        this.hasFailed = false
      } catch (error) {
        this.lost += lines.length
        if (!this.hasFailed) {
          const { message } = error as Error
          this.logger.error('audit: cannot write', { file: this.options.file, error: message })
        }
        this.hasFailed = true
      }
    }
  }

  /** Lines that are written together, at most what a file may contain. */
  private *parts(lines: readonly string[]): Iterable<Buffer> {
    const { bytesMax } = this.options
    let part: Buffer[] = []
    let bytes = 0
    for (const line of lines) {
      const next = Buffer.from(line)
      if (bytesMax > 0 && bytes > 0 && this.bytes + bytes + next.length > bytesMax) {
        yield Buffer.concat(part)
        part = []
        bytes = 0
      }
      part.push(next)
      bytes += next.length
    }
    yield Buffer.concat(part)
  }

  private async write(bytes: Buffer): Promise<void> {
    const { bytesMax } = this.options
    if (bytesMax > 0 && this.bytes > 0 && this.bytes + bytes.length > bytesMax) await this.rotate()
    const handle = this.handle ?? (await this.reopen())
    await handle.appendFile(bytes)
    this.bytes += bytes.length
  }

  private async reopen(): Promise<FileHandle> {
    // Names of nodes and users are not for everybody.
    this.handle = await open(this.options.file, 'a', 0o640)
    this.bytes = (await this.handle.stat()).size
    return this.handle
  }

  private async rotate(): Promise<void> {
    const { file, filesMax } = this.options
    await this.handle?.close()
    this.handle = undefined
    await rm(`${file}.${filesMax}`, { force: true })
    for (let n = filesMax - 1; n >= 0; n--) {
      const from = n === 0 ? file : `${file}.${n}`
      await rename(from, `${file}.${n + 1}`).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
      })
    }
  }
}
