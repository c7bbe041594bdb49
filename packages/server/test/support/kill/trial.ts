/**
 * Kills a server under load, in rounds. After each round, on the same data directory: every
 * acknowledged write exists with its zxid and version; of the writes whose replies were lost, the
 * first few exist and the rest do not; and ephemerals are deleted with their sessions.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Random } from '../random.ts'
import { RawClient } from '../raw-client.ts'
import { ServerProcess } from '../server-process.ts'
import { look, untilGone } from './look.ts'
import { Writer } from './writer.ts'

export interface TrialOptions {
  readonly dir: string
  readonly seed: number
  readonly rounds: number
  /** SIGKILL, or a clean stop, which must not lose acknowledged writes either. */
  readonly ending: 'kill' | 'stop'
  readonly onRound?: (round: Round) => void
}

export interface Round {
  readonly number: number
  readonly acknowledged: number
  /** Writes whose replies were lost, and how many of them took effect nevertheless. */
  readonly unanswered: number
  readonly unansweredDone: number
  readonly problems: readonly string[]
}

/** Small files and short sessions, so that a round covers log rolls, snapshots and expiry. */
const cfg = `
tickTime=100
minSessionTimeout=200
maxSessionTimeout=60000
snapCount=400
preAllocSize=64
`
const fleetingMs = 1000
const lastingMs = 30_000
/** How long a session may outlive its timeout: two ticks, and the slowness of a busy machine. */
const graceMs = 5000
const writerCount = 5

/** Runs the rounds; resolves with the findings of each. */
export async function runTrial(options: TrialOptions): Promise<Round[]> {
  const trial = new Trial(options)
  const rounds: Round[] = []
  for (let number = 1; number <= options.rounds; number++) {
    const round = await trial.round(number, number === options.rounds)
    rounds.push(round)
    options.onRound?.(round)
    // Problems after the first one add no information.
    if (round.problems.length > 0) break
  }
  return rounds
}

class Trial {
  private readonly options: TrialOptions
  private readonly random: Random
  private readonly writers: Writer[]
  /** Ephemerals of dead sessions that have not been seen deleted yet. */
  private readonly going = new Set<string>()
  private highestZxid = 0n
  private readonly seenZxids = new Set<bigint>()

  constructor(options: TrialOptions) {
    this.options = options
    this.random = new Random(options.seed)
    this.writers = Array.from(
      { length: writerCount },
      (_, i) => new Writer(`/writer-${i}`, i % 2 === 1, new Random(options.seed * 31 + i)),
    )
  }

  async round(number: number, isLast: boolean): Promise<Round> {
    const before = this.acknowledged
    const problems: string[] = []
    let counts = { unanswered: 0, unansweredDone: 0 }
    try {
      counts = await this.killAndVerify(number, isLast, problems)
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
    return { number, acknowledged: this.acknowledged - before, ...counts, problems }
  }

  private async killAndVerify(
    number: number,
    isLast: boolean,
    problems: string[],
  ): Promise<{ unanswered: number; unansweredDone: number }> {
    await this.load(number, problems)
    await this.killWhileStarting()
    const server = await ServerProcess.start(this.options.dir, cfg)
    try {
      const observer = await RawClient.connect(server.port, { timeoutMs: lastingMs })
      const counts = await this.verify(observer, server.port, number, problems)
      if (isLast || this.random.chance(0.2)) await this.awaitExpiry(observer, problems)
      await observer.close()
      return counts
    } finally {
      await server.kill()
    }
  }

  private get acknowledged(): number {
    return this.writers.reduce((sum, writer) => sum + writer.acknowledged, 0)
  }

  /** All writers write until the server is ended at a random moment. */
  private async load(number: number, problems: string[]): Promise<void> {
    const { dir, ending } = this.options
    const server = await ServerProcess.start(dir, cfg)
    try {
      const setUp = await RawClient.connect(server.port, { timeoutMs: lastingMs })
      const shared = sharedParent(number)
      await setUp.create(shared)
      if (number === 1) for (const { root } of this.writers) await setUp.create(root)
      else await removeTree(setUp, sharedParent(number - 1))
      const working = await Promise.all(
        this.writers.map((writer) => this.start(writer, server.port, shared)),
      )
      await delay(this.random.between(5, 500))
      if (ending === 'kill') await server.kill()
      else await this.stopCleanly(server, problems)
      await Promise.all(working.map(({ done }) => done))
      await setUp.ended
    } finally {
      await server.kill()
    }
    this.checkZxids(problems)
    for (const writer of this.writers) problems.push(...writer.problems.splice(0))
  }

  private async start(
    writer: Writer,
    port: number,
    shared: string,
  ): Promise<{ done: Promise<void> }> {
    const timeoutMs = writer.isFleeting ? fleetingMs : lastingMs
    const session = this.sessions.get(writer)
    const client = await RawClient.connect(port, {
      timeoutMs,
      ...(session === undefined ? {} : { session }),
    })
    if (!writer.isFleeting) this.sessions.set(writer, client)
    return { done: writer.work(client, shared) }
  }

  /** Sessions that are resumed in the next round. */
  private readonly sessions = new Map<Writer, { sessionId: bigint; password: Uint8Array }>()

  private async stopCleanly(server: ServerProcess, problems: string[]): Promise<void> {
    const { code } = await server.stop()
    if (code !== 0) problems.push(`a clean stop ended with code ${code}:\n${server.output}`)
  }

  /** Sometimes kills it again before it has started. */
  private async killWhileStarting(): Promise<void> {
    if (!this.random.chance(0.25)) return
    const server = ServerProcess.launch(this.options.dir, cfg)
    await delay(this.random.between(100, 900))
    await server.kill()
  }

  /** No zxid was given twice, and none is lower than those of earlier rounds. */
  private checkZxids(problems: string[]): void {
    const floor = this.highestZxid
    for (const writer of this.writers) {
      let last = floor
      for (const zxid of writer.zxids.splice(0)) {
        if (zxid <= last) problems.push(`${writer.root}: zxid ${zxid} came after ${last}`)
        if (this.seenZxids.has(zxid)) problems.push(`zxid ${zxid} was acknowledged twice`)
        last = zxid
        this.seenZxids.add(zxid)
        if (zxid > this.highestZxid) this.highestZxid = zxid
      }
    }
    this.seenZxids.clear() // From now on all zxids are above the highest one.
  }

  private async verify(
    observer: RawClient,
    port: number,
    number: number,
    problems: string[],
  ): Promise<{ unanswered: number; unansweredDone: number }> {
    let unanswered = 0
    let unansweredDone = 0
    await this.checkShared(observer, sharedParent(number), problems)
    for (const writer of this.writers) {
      const session = this.sessions.get(writer)
      if (session !== undefined) await this.resume(writer.root, port, session, problems)
      // Ephemerals of sessions that died in earlier rounds are checked elsewhere.
      const isGoing = (name: string): boolean => this.going.has(`${writer.root}/${name}`)
      const outcome = writer.settle(await look(observer, writer.root, isGoing))
      if ('problem' in outcome) {
        problems.push(`${writer.root}: ${outcome.problem}`)
        continue
      }
      unanswered += writer.unansweredCount
      unansweredDone += writer.unansweredCount - outcome.lost.length
      for (const path of writer.settled()) this.going.add(path)
    }
    return { unanswered, unansweredDone }
  }

  /** Resumes a session, which outlives its server, and keeps it for the next round. */
  private async resume(
    root: string,
    port: number,
    session: { sessionId: bigint; password: Uint8Array },
    problems: string[],
  ): Promise<void> {
    try {
      const client = await RawClient.connect(port, { timeoutMs: lastingMs, session })
      if (client.sessionId !== session.sessionId) problems.push(`${root} got another session`)
      await client.abandon()
    } catch (error) {
      problems.push(`${root}: its session was not resumed: ${(error as Error).message}`)
    }
  }

  /** Every acknowledged node exists under its name, and none was created twice. */
  private async checkShared(
    observer: RawClient,
    parent: string,
    problems: string[],
  ): Promise<void> {
    const found = await look(observer, parent)
    const owners = new Map<string, string>()
    let lastZxid = 0n
    const byName = [...found.nodes].toSorted(([a], [b]) => (a < b ? -1 : 1))
    for (const [name, { data, czxid }] of byName) {
      const twin = owners.get(data)
      if (twin !== undefined) problems.push(`${name} and ${twin} are the same write: ${data}`)
      owners.set(data, name)
      if (czxid <= lastZxid) problems.push(`${name} has a later number and an earlier zxid`)
      lastZxid = czxid
    }
    for (const { path, data, zxid } of this.writers.flatMap(({ shared }) => shared)) {
      const node = found.nodes.get(path.slice(parent.length + 1))
      if (node === undefined) problems.push(`${path} was acknowledged and is missing`)
      else if (node.data !== data || node.czxid !== zxid) problems.push(`${path} is another's`)
      owners.delete(data)
    }
    const unanswered = new Set(this.writers.flatMap((writer) => writer.unansweredShared()))
    for (const [data, name] of owners) {
      if (!unanswered.has(data)) problems.push(`${parent}/${name} was never asked for: ${data}`)
    }
  }

  private async awaitExpiry(observer: RawClient, problems: string[]): Promise<void> {
    const stayed = await untilGone(observer, [...this.going], fleetingMs + graceMs)
    for (const path of stayed) problems.push(`${path} outlived its session`)
    this.going.clear()
  }
}

const sharedParent = (round: number): string => `/shared-${round}`

async function removeTree(client: RawClient, path: string): Promise<void> {
  const { children } = await client.must('getChildren', { path, watch: false })
  await Promise.all(
    children.map((name) => client.must('delete', { path: `${path}/${name}`, version: -1 })),
  )
  await client.must('delete', { path, version: -1 })
}
