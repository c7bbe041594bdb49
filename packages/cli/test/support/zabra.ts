import { PassThrough, Writable } from 'node:stream'
import { run } from '../../src/framework/run.ts'
import type { Io } from '../../src/framework/io.ts'
import { commands } from '../../src/table/index.ts'

export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface CallOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string | Uint8Array
  readonly signal?: AbortSignal
  /** As if stdout were a terminal. */
  readonly isTerminal?: boolean
  /** The width of that terminal. */
  readonly columns?: number
}

/** A command of zabra in this process, as it behaves with a pipe: `await zabra('ls', '/')`. */
export type Zabra = (...words: (string | CallOptions)[]) => Promise<Said>

/** `servers` are found in ZABRA_SERVERS. */
export function zabraFor(servers: string, env: Readonly<Record<string, string>> = {}): Zabra {
  return async (...given) => {
    const words = given.filter((one) => typeof one === 'string')
    const options = given.find((one) => typeof one === 'object') ?? {}
    const stdout = new Collector(options.isTerminal, options.columns)
    const stderr = new Collector()
    const stdin = new PassThrough()
    stdin.end(options.stdin ?? '')
    const io: Io = {
      stdin,
      stdout,
      stderr,
      env: {
        ZABRA_SERVERS: servers,
        ZABRA_CONFIG_DIR: '/nonexistent/zabra',
        ...env,
        ...options.env,
      },
    }
    const signal = options.signal ?? new AbortController().signal
    const code = await run(commands, words, { io, signal })
    return { code, stdout: stdout.text, stderr: stderr.text }
  }
}

class Collector extends Writable {
  readonly isTTY: boolean
  readonly columns: number | undefined
  private readonly chunks: Buffer[] = []

  constructor(isTTY = false, columns?: number) {
    super()
    this.isTTY = isTTY
    this.columns = columns
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString()
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.chunks.push(chunk)
    done()
  }
}
