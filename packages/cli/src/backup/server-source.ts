import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { ConnectionSettings } from '../connection/settings.ts'
import { openAdmin } from '../ensemble/admin.ts'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { hex } from '../node/stat.ts'
import { checksumText, type RecordCollector } from './record-collector.ts'
import { BrokenChainError, type BackupSource, type LogCopy, type SnapshotCopy } from './source.ts'

/** How often all servers are tried before a backup fails. */
const roundsMax = 4
const pauseMs = 1000

export interface ServerSourceOptions {
  /** The admin ports to ask, in order. */
  readonly bases: readonly string[]
  readonly settings: ConnectionSettings
  readonly signal: AbortSignal
  readonly note: (text: string) => void
  /** The maximum bytes per second. */
  readonly rate: number | undefined
}

/** Copies from running servers. If one fails, another member continues. */
export class ServerSource implements BackupSource {
  private readonly options: ServerSourceOptions
  private readonly bases: readonly string[]
  /** The server that answered last. */
  private current = 0
  private readonly startedMs = performance.now()
  private sentBytes = 0

  constructor(options: ServerSourceOptions) {
    this.options = options
    this.bases = options.bases
  }

  get name(): string {
    return this.bases[this.current]!
  }

  openSnapshot(fresh: boolean): Promise<SnapshotCopy> {
    return this.attempt(async () => {
      const response = await this.get(`backup/snapshot?fresh=${fresh}`)
      const { 'zabra-file': name, 'zabra-zxid': zxid, 'content-length': length } = response.headers
      if (typeof name !== 'string' || !/^snapshot\.[\w.]+$/.test(name)) throw noAnswer(this.name)
      return {
        name,
        zxid: BigInt(zxid as string),
        bytes: Number(length),
        chunks: this.paced(response),
      }
    })
  }

  async copyLog(collector: RecordCollector): Promise<LogCopy> {
    let known: LogCopy | undefined
    const copying = this.attempt(async () => {
      if (known !== undefined && collector.zxid === known.to) return
      const { zxid, checksum } = collector
      const query = new URLSearchParams({ after: hex(zxid) })
      if (checksum !== undefined) query.set('checksum', checksumText(checksum))
      if (known !== undefined) query.set('to', hex(known.to))
      const response = await this.get(`backup/log?${query.toString()}`)
      const { 'zabra-zxid': to, 'zabra-time': takenAt } = response.headers
      if (typeof to !== 'string' || typeof takenAt !== 'string') throw noAnswer(this.name)
      known ??= { to: BigInt(to), takenAt }
      collector.dropRest()
      for await (const chunk of this.paced(response)) await collector.push(chunk)
      if (collector.zxid !== known.to) throw noAnswer(this.name)
    })
    await copying.catch((error: unknown) => {
      // Every server is behind the end of the last backup: this history never got there.
      const isBehind = error instanceof CommandError && error.code === 'behind'
      if (!isBehind || known !== undefined) throw error
      throw new BrokenChainError('otherHistory', error.message)
    })
    return known!
  }

  private async get(pathAndQuery: string): Promise<IncomingMessage> {
    const { settings, signal } = this.options
    return openAdmin({ base: this.name, path: `/api/v1/${pathAndQuery}`, settings, signal })
  }

  /** Tries one server after another, and all of them a few times. */
  private async attempt<T>(work: () => Promise<T>): Promise<T> {
    const { bases, options } = this
    const problems = new Map<string, CommandError>()
    for (let count = 0; ; count++) {
      try {
        return await work()
      } catch (error) {
        options.signal.throwIfAborted()
        if (!(error instanceof CommandError) && !isConnectionLost(error)) throw error
        const problem = asCommandError(error as Error)
        problems.set(this.name, problem)
        const broken = brokenBy(problems, bases.length)
        if (broken !== undefined) throw broken
        const isLast = count + 1 >= bases.length * (isWorthRetrying(problem) ? roundsMax : 1)
        if (isLast) throw summary(problems)
        if (bases.length > 1 || isWorthRetrying(problem))
          options.note(`${problemText(this.name, problem)}; trying again`)
        this.current = (this.current + 1) % bases.length
        if (this.current === 0) await delay(pauseMs, undefined, { signal: options.signal })
      }
    }
  }

  private async *paced(response: IncomingMessage): AsyncGenerator<Uint8Array, void, void> {
    const { rate, signal } = this.options
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      yield chunk
      if (rate === undefined) continue
      this.sentBytes += chunk.length
      const aheadMs = (this.sentBytes / rate) * 1000 - (performance.now() - this.startedMs)
      if (aheadMs > 10) await delay(aheadMs, undefined, { signal })
    }
  }
}

const reasons = { logsPurged: 'purged', otherHistory: 'otherHistory', logGap: 'gap' } as const

/** Called when no server can continue from the end of the last backup. */
function brokenBy(
  problems: ReadonlyMap<string, CommandError>,
  servers: number,
): BrokenChainError | undefined {
  if (problems.size < servers) return undefined
  const broken = [...problems.values()].find(({ code }) => code in reasons)
  if (broken === undefined) return undefined
  return new BrokenChainError(reasons[broken.code as keyof typeof reasons], broken.message)
}

function isWorthRetrying({ code }: CommandError): boolean {
  return ['unreachable', 'notServing', 'behind', 'moved', 'lost', 'badAnswer'].includes(code)
}

function isConnectionLost(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^(ECONN|EPIPE|ERR_STREAM)/.test(code)
}

function asCommandError(error: Error): CommandError {
  if (error instanceof CommandError) return error
  return new CommandError('the connection was lost', {
    code: 'lost',
    exitCode: exitCodes.unavailable,
    cause: error,
  })
}

function noAnswer(base: string): CommandError {
  return new CommandError(`${base} did not send everything`, {
    code: 'badAnswer',
    exitCode: exitCodes.unavailable,
  })
}

function summary(problems: ReadonlyMap<string, CommandError>): CommandError {
  const [first] = problems.values()
  if (problems.size === 1) return first!
  const texts = [...problems].map(([base, problem]) => problemText(base, problem))
  const { code, exitCode, hint } = first!
  return new CommandError(texts.join('; '), { code, exitCode, hint, cause: first })
}

/** Some problems name the server already. */
function problemText(name: string, { message }: Error): string {
  return message.startsWith(`${name}: `) ? message : `${name}: ${message}`
}
