import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAcl, RawClient } from '../../packages/server/test/support/raw-client.ts'
import type { ApacheRelease } from '../src/apache.ts'
import { blame } from '../src/blame.ts'
import type { ServerCommand } from '../src/commands.ts'
import { ephemeralsAmiss, fill, type LeftSession } from './fill.ts'
import { Host, type HostOptions } from './host.ts'
import { differences, type Tree } from './tree.ts'

/** How often a directory is written that the server that wrote it cannot read. */
const attemptsMax = 3

/** How the content of a directory is produced. */
export interface Case {
  readonly name: string
  readonly cfg: string
  readonly volume: number
  readonly ending: 'SIGTERM' | 'SIGKILL'
  readonly separateLogs?: boolean
  /** The server is killed during writes, so its exact state is unknown. */
  readonly midway?: boolean
  /** The first release with the features that are used. */
  readonly since?: ApacheRelease
}

export interface Outcome {
  /** The problems, as sentences. */
  readonly problems: readonly string[]
  readonly nodesCompared: number
  readonly digestsCompared: number
  readonly sessionsResumed: number
}

/**
 * The way of one directory: the first server writes it; the second takes it over and writes; the
 * first takes it back and writes; the second reads it.
 */
export async function exchange(
  what: Case,
  first: ServerCommand,
  second: ServerCommand,
  { hardLimits, keepFailures }: { hardLimits: boolean; keepFailures: boolean },
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'zabra-exchange-'))
  const trip = new Trip(what, folder, hardLimits)
  try {
    mkdirSync(join(folder, 'data'), { recursive: true })
    await trip.write(first)
    await trip.takeOver(second, '/second')
    await trip.takeOver(first, '/third')
    await trip.takeOver(second, undefined)
  } catch (error) {
    trip.problems.push(error instanceof Error ? error.message : String(error))
  } finally {
    await trip.host?.end('SIGKILL')
  }
  if (keepFailures && trip.problems.length > 0) trip.problems.push(`the files are in ${folder}`)
  else rmSync(folder, { recursive: true, force: true })
  return trip
}

class Trip implements Outcome {
  readonly problems: string[] = []
  nodesCompared = 0
  digestsCompared = 0
  sessionsResumed = 0
  host: Host | undefined
  private readonly what: Case
  private readonly options: HostOptions
  private expected: Tree = new Map()
  private digests: ReadonlyMap<string, string> = new Map()
  private sessions: LeftSession[] = []
  private readonly hardLimits: boolean

  constructor(what: Case, folder: string, hardLimits: boolean) {
    this.what = what
    this.hardLimits = hardLimits
    const { cfg, separateLogs = false } = what
    this.options = { folder, cfg, separateLogs }
  }

  async write(command: ServerCommand): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.host = await Host.start(command, this.options)
      await this.writeAs('/first')
      if (this.what.midway !== true) return this.remember()
      const isReadable = await this.killMidway(command, attempt === attemptsMax)
      if (isReadable) return
      this.sessions.splice(0)
      rmSync(join(this.options.folder, 'data', 'version-2'), { recursive: true })
    }
  }

  /** Starts the next server on the directory, compares, and lets it write. */
  async takeOver(command: ServerCommand, root: string | undefined): Promise<void> {
    const { name } = command
    this.host = await Host.start(command, this.options)
    this.blame(name, differences(this.expected, await this.host.tree()))
    this.nodesCompared += this.expected.size
    for (const session of this.sessions) await this.resume(name, session)
    for (const [zxid, digest] of await this.host.digests()) {
      const known = this.digests.get(zxid)
      if (known === undefined) continue
      this.digestsCompared++
      if (known !== digest) {
        this.blame(name, [`after ${zxid} the digest is ${digest}, where it was ${known}`])
      }
    }
    if (root !== undefined) await this.writeAs(root)
    this.blame(name, this.host.digestComplaints())
    await this.remember()
  }

  private async writeAs(root: string): Promise<void> {
    const { volume } = this.what
    this.sessions.push(await fill(this.host!.port, root, volume, this.hardLimits))
  }

  /** Records what the next server must find. */
  private async remember(): Promise<void> {
    const host = this.host!
    this.expected = await host.tree()
    this.digests = new Map([...this.digests, ...(await host.digests())])
    await host.end(this.what.ending)
    this.host = undefined
  }

  /**
   * Its own kind of server then determines the content, on a copy. False if it cannot: Apache 3.6
   * does not start if it was killed between the creation of a log and the writing of its header.
   */
  private async killMidway(command: ServerCommand, isLast: boolean): Promise<boolean> {
    const host = this.host!
    const client = await RawClient.connect(host.port)
    const writes = Array.from({ length: 3000 }, (_, i) => {
      const data = Buffer.alloc(i % 500)
      return client.call('create', { path: `/mid-${i}`, data, acl: openAcl, flags: 0 })
    })
    const settled = Promise.allSettled(writes)
    await writes[700]
    await host.end('SIGKILL')
    await settled
    const copy = `${this.options.folder}-copy`
    cpSync(this.options.folder, copy, { recursive: true })
    try {
      this.host = await Host.start(command, { ...this.options, folder: copy })
      await this.remember()
      return true
    } catch (error) {
      if (isLast || !String(error).includes('java.io.EOFException')) throw error
      return false
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  }

  /** The session and its ephemerals are alive; it is left open for the next server. */
  private async resume(name: string, session: LeftSession): Promise<void> {
    try {
      const client = await RawClient.connect(this.host!.port, { timeoutMs: 120_000, session })
      this.blame(name, await ephemeralsAmiss(client, session))
      this.sessionsResumed++
      await client.abandon()
    } catch (error) {
      this.blame(name, [`session ${session.sessionId.toString(16)}: ${(error as Error).message}`])
    }
  }

  private blame(name: string, sentences: readonly string[]): void {
    this.problems.push(...blame(name, sentences))
  }
}
