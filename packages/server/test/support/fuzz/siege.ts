/**
 * A server under attack by many hostile connections, while one well-behaved client works. The
 * client must not notice, and afterwards the server must hold no more memory than before.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createHash } from 'node:crypto'
import { Random } from '../random.ts'
import { RawClient, textOf } from '../raw-client.ts'
import { ServerProcess } from '../server-process.ts'
import { attack } from './attack.ts'

export interface SiegeOptions {
  readonly dir: string
  readonly seed: number
  /** The siege ends when either limit is reached. */
  readonly framesMax: number
  readonly msMax: number
  readonly onProgress?: (frames: number, connections: number) => void
}

export interface SiegeResult {
  readonly frames: number
  readonly connections: number
  /** Correctly answered requests of the well-behaved client. */
  readonly served: number
  readonly slowestMs: number
  /** Bytes held after a garbage collection, before and after. */
  readonly heldBefore: number
  readonly heldAfter: number
  readonly problems: readonly string[]
}

const superPassword = 'super:siege'
const superDigest = createHash('sha1').update(superPassword).digest('base64')
const cfg = `
tickTime=200
minSessionTimeout=400
maxSessionTimeout=2000
snapCount=20000
preAllocSize=1024
4lw.commands.whitelist=*
extendedTypesEnabled=true
DigestAuthenticationProvider.superDigest=super:${superDigest}
`
const attackers = 16
const warmUpFrames = 3000
const framesPerConnectionMax = 60
/** Allowed memory growth: caches that have grown to their working size. */
export const heldGrowthMax = 24 * 1024 * 1024
/**
 * A little longer than the longest session timeout: nothing announces the end of the last session.
 */
const settleMs = 2500
const settleMsMax = 20_000

export async function besiege(options: SiegeOptions): Promise<SiegeResult> {
  const random = new Random(options.seed)
  const server = await ServerProcess.start(options.dir, cfg)
  try {
    // Excludes what a server allocates once and keeps.
    await storm(server.port, random, { framesMax: warmUpFrames, msMax: options.msMax / 2 })
    await cleanUp(server.port)
    await delay(settleMs)
    const heldBefore = await held(server)
    const citizen = new Citizen(server.port)
    const living = citizen.live()
    const { frames, connections } = await storm(server.port, random, options)
    citizen.retire()
    await living
    const { served, slowestMs, problems } = citizen
    await cleanUp(server.port)
    const heldAfter = await heldWhenSettled(server, heldBefore + heldGrowthMax)
    const { code } = await server.stop()
    if (code !== 0) problems.push(`the server ended with ${code}:\n${server.output.slice(-3000)}`)
    return { frames, connections, served, slowestMs, heldBefore, heldAfter, problems }
  } catch (error) {
    const said = server.output.slice(-3000)
    throw new Error(`${(error as Error).message}; the server said:\n${said}`, { cause: error })
  } finally {
    await server.kill()
  }
}

/** Runs many attackers at a time. */
async function storm(
  port: number,
  random: Random,
  limits: Pick<SiegeOptions, 'framesMax' | 'msMax' | 'onProgress'>,
): Promise<{ frames: number; connections: number }> {
  const deadline = performance.now() + limits.msMax
  let frames = 0
  let connections = 0
  const attacker = async (own: Random): Promise<void> => {
    while (frames < limits.framesMax && performance.now() < deadline) {
      const sent = await attack(port, own, framesPerConnectionMax)
      frames += sent
      connections++
      if (connections % 1000 === 0) limits.onProgress?.(frames, connections)
    }
  }
  const seeds = Array.from({ length: attackers }, () => random.int(0x7fffffff))
  await Promise.all(seeds.map((seed) => attacker(new Random(seed))))
  return { frames, connections }
}

/** A client that makes ordinary requests and checks every answer. */
class Citizen {
  served = 0
  slowestMs = 0
  readonly problems: string[] = []
  private readonly port: number
  private isRetired = false

  constructor(port: number) {
    this.port = port
  }

  retire(): void {
    this.isRetired = true
  }

  async live(): Promise<void> {
    try {
      const client = await RawClient.connect(this.port, { timeoutMs: 2000 })
      // Attackers may lock others out by an ACL on the root, which is legal.
      await client.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from(superPassword) })
      await client.create('/citizen', '0')
      for (let i = 1; !this.isRetired; i++) await this.day(client, i)
      await client.must('delete', { path: '/citizen', version: -1 })
      await client.close()
    } catch (error) {
      this.problems.push(`the well-behaved client after ${this.served} requests: ${String(error)}`)
    }
  }

  private async day(client: RawClient, i: number): Promise<void> {
    const started = performance.now()
    const path = '/citizen'
    const [set, get, created, list, deleted] = await Promise.all([
      client.must('setData', { path, data: Buffer.from(`${i}`), version: -1 }),
      client.must('getData', { path, watch: false }),
      client.create(`${path}/child`, '', 1),
      client.must('getChildren', { path, watch: false }),
      client.must('delete', { path: `${path}/child`, version: 0 }),
    ])
    void deleted
    const isRight =
      set.stat.version === i &&
      textOf(get.data) === `${i}` &&
      created.stat.ephemeralOwner === client.sessionId &&
      list.children.join() === 'child'
    if (!isRight) this.problems.push(`the well-behaved client was told something wrong on day ${i}`)
    this.served += 5
    this.slowestMs = Math.max(this.slowestMs, performance.now() - started)
  }
}

/** Removes what valid requests of the attackers have created. */
async function cleanUp(port: number): Promise<void> {
  const client = await RawClient.connect(port)
  await client.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from(superPassword) })
  const remove = async (path: string): Promise<void> => {
    const { response } = await client.call('getChildren', { path, watch: false })
    for (const name of response?.children ?? []) {
      if (path !== '/' || name !== 'zookeeper') await remove(`${path === '/' ? '' : path}/${name}`)
    }
    if (path !== '/' && path !== '/zookeeper/quota')
      await client.call('delete', { path, version: -1 })
  }
  await remove('/')
  await remove('/zookeeper/quota')
  await client.close()
}

/** Bytes that the server holds once the attackers' sessions have ended and garbage is collected. */
async function heldWhenSettled(server: ServerProcess, enough: number): Promise<number> {
  const deadline = performance.now() + settleMsMax
  for (;;) {
    const now = await held(server)
    if (now <= enough || performance.now() > deadline) return now
    await delay(settleMs)
  }
}

async function held(server: ServerProcess): Promise<number> {
  const { heapUsed, external } = await server.memory()
  return heapUsed + external
}
