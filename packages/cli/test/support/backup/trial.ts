/**
 * Backups of an ensemble that is written to while its servers are killed, and what they are worth:
 * every restored state must be what the writers know to have been there.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { connect, type Client } from '@zabra/client'
import { PastTree } from '@zabra/core'
import { EnsembleProcesses } from '../../../../server/test/support/chaos/ensemble-processes.ts'
import { freePorts } from '../../../../server/test/support/free-ports.ts'
import { Random } from '../../../../server/test/support/random.ts'
import { linesOf, rangeOf, stateAt } from '../../../src/backup/state.ts'
import { readChain } from '../../../src/backup/chain.ts'
import { superDigest, superPassword } from '../super-user.ts'
import { zabraFor, type Zabra } from '../zabra.ts'
import { differences, Ledger, textsOf } from './ledger.ts'
import { Writer } from './writer.ts'

export interface TrialOptions {
  readonly dir: string
  readonly seed: number
  /** How long is written to the ensemble. */
  readonly ms: number
  /** Restored states that are compared with the ledger. */
  readonly points: number
  /** Bytes that are flipped, one at a time. */
  readonly flips: number
  /** The command as a program, to be killed now and then. */
  readonly program: readonly string[]
  readonly say?: (text: string) => void
}

export interface TrialResult {
  readonly transactions: number
  readonly lost: number
  readonly serverKills: number
  readonly backups: number
  readonly fullBackups: number
  readonly backupKills: number
  readonly zxidsCompared: number
  readonly timesCompared: number
  readonly flipsFound: number
  readonly problems: readonly string[]
}

const writers = 3
const isOurs = (path: string): boolean => /^\/w\d+(\/|$)/.test(path)

export async function runBackupTrial(options: TrialOptions): Promise<TrialResult> {
  const trial = new Trial(options)
  try {
    return await trial.run()
  } finally {
    await trial.close()
  }
}

class Trial {
  private readonly options: TrialOptions
  private readonly random: Random
  private readonly backups: string
  private readonly ledger = new Ledger()
  private readonly problems: string[] = []
  private readonly clients: Client[] = []
  private readonly counts = { serverKills: 0, backupKills: 0 }
  private readonly open: EnsembleProcesses[] = []
  private admins: string[] = []
  private zabra!: Zabra

  constructor(options: TrialOptions) {
    this.options = options
    this.random = new Random(options.seed)
    this.backups = join(options.dir, 'backups')
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.clients.map((client) => client.close()))
    for (const ensemble of this.open) await ensemble.close(false)
  }

  async run(): Promise<TrialResult> {
    const { dir, ms, say = () => {} } = this.options
    const ensemble = await this.ensemble(join(dir, 'ensemble'))
    this.zabra = zabraFor(connectString(ensemble), { ZABRA_AUTH: `digest:${superPassword}` })
    const untilMs = performance.now() + ms
    const own = await this.startWriters(ensemble)
    const running = own.map((writer) => writer.run())
    await Promise.all([this.torment(ensemble, untilMs), this.takeBackups(untilMs)])
    for (const writer of own) writer.stop()
    await Promise.all(running)
    await ensemble.heal()
    await this.backup()
    const lost = own.reduce((sum, writer) => sum + writer.lost, 0)
    say(`${this.ledger.entries.length} transactions, ${lost} without an answer`)
    await this.expectSound('--replay')
    const zxidsCompared = await this.compareZxids()
    say(`${zxidsCompared} states compared`)
    const timesCompared = await this.compareTimes()
    const flipsFound = await this.flip()
    say(`${flipsFound} flipped bytes found`)
    await this.restoreSubtree(ensemble)
    say('a subtree restored into the running ensemble')
    await this.restoreEnsemble()
    say('a new ensemble restored')
    const chain = await readChain(this.backups)
    return {
      transactions: this.ledger.entries.length,
      lost,
      ...this.counts,
      backups: chain.length,
      fullBackups: chain.filter(({ manifest }) => manifest.kind === 'full').length,
      zxidsCompared,
      timesCompared,
      flipsFound,
      problems: this.problems,
    }
  }

  private async ensemble(dir: string, cfg = ''): Promise<EnsembleProcesses> {
    const ports = await freePorts(3)
    const ensemble = await EnsembleProcesses.open({
      dir,
      servers: 3,
      isProxied: true,
      cfg: `tickTime=500\ninitLimit=20\nsyncLimit=10\nsnapCount=400\nDigestAuthenticationProvider.superDigest=${superDigest}\n${cfg}`,
      cfgOf: (id) => `admin.enableServer=true\nadmin.serverPort=${ports[id - 1]}`,
    })
    this.open.push(ensemble)
    this.admins = ports.map((port) => `http://127.0.0.1:${port}`)
    await ensemble.heal()
    return ensemble
  }

  private async connect(ensemble: EnsembleProcesses): Promise<Client> {
    const client = await connect(connectString(ensemble), {
      timeoutMs: 30_000,
      callTimeoutMs: 60_000,
      auth: [{ scheme: 'digest', credentials: superPassword }],
    })
    this.clients.push(client)
    return client
  }

  private async startWriters(ensemble: EnsembleProcesses): Promise<Writer[]> {
    const own: Writer[] = []
    for (let i = 0; i < writers; i++) {
      const random = new Random(this.options.seed + i)
      own.push(new Writer(await this.connect(ensemble), `/w${i}`, random, this.ledger))
    }
    return own
  }

  /** Kills one server after another; a quorum is left. */
  private async torment(ensemble: EnsembleProcesses, untilMs: number): Promise<void> {
    while (performance.now() < untilMs) {
      await pause(this.random.between(500, 2000))
      const id = this.random.pick(ensemble.ids)
      await ensemble.kill(id)
      this.counts.serverKills++
      await pause(this.random.between(0, 500))
      await ensemble.start(id)
    }
  }

  private async takeBackups(untilMs: number): Promise<void> {
    for (let round = 0; performance.now() < untilMs; round++) {
      await pause(this.random.between(100, 800))
      if (round % 3 === 2) await this.killedBackup()
      else await this.backup()
    }
  }

  private get words(): readonly string[] {
    const admins = this.admins.flatMap((url) => ['--admin', url])
    return ['backup', '--output', this.backups, '--full-every', '4', ...admins]
  }

  private async backup(): Promise<void> {
    const { code, stderr } = await this.zabra(...this.words)
    // While an election is under way there may be nobody to ask.
    if (code !== 0 && code !== 3) this.problems.push(`a backup ended with ${code}: ${stderr}`)
  }

  /** A backup that dies at some moment. */
  private async killedBackup(): Promise<void> {
    const [program = '', ...args] = this.options.program
    const child = spawn(program, [...args, ...this.words], {
      env: { ...process.env, ZABRA_AUTH: `digest:${superPassword}` },
      stdio: 'ignore',
    })
    const over = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    await Promise.race([over, pause(this.random.between(150, 900))])
    if (child.exitCode === null && child.kill('SIGKILL')) this.counts.backupKills++
    await over
    await this.expectSound()
  }

  private async expectSound(...words: string[]): Promise<void> {
    if (!readdirSync(this.backups).some((name) => /-(full|log)$/.test(name))) return
    const { code, stdout, stderr } = await this.zabra('backup', 'verify', this.backups, ...words)
    if (code !== 0) this.problems.push(`verify: ${stdout}${stderr}`)
  }

  /** A zxid that backups cover, of a transaction of ours or of somebody else. */
  private async coveredZxids(): Promise<(zxid: bigint) => boolean> {
    const ranges = linesOf(await readChain(this.backups)).map(rangeOf)
    return (zxid) => ranges.some(({ from, to }) => zxid >= from.zxid && zxid <= BigInt(to.zxid))
  }

  private async compareZxids(): Promise<number> {
    const isCovered = await this.coveredZxids()
    const known = this.ledger.entries.filter(({ zxid }) => isCovered(zxid))
    if (known.length === 0) return 0
    for (let i = 0; i < this.options.points; i++) await this.compare(this.random.pick(known).zxid)
    return this.options.points
  }

  private async compare(zxid: bigint): Promise<void> {
    const state = await stateAt(this.backups, { zxid }, { signal: never })
    const found = textsOf(new PastTree(state.db, zxid), isOurs)
    const wrong = differences(this.ledger.treeAt(zxid), found)
    if (wrong.length > 0) this.problems.push(`as of 0x${zxid.toString(16)}: ${wrong.join('; ')}`)
  }

  private async compareTimes(): Promise<number> {
    const isCovered = await this.coveredZxids()
    const { entries } = this.ledger
    const timed = entries.filter(({ zxid, timeMs }) => timeMs !== undefined && isCovered(zxid))
    const count = timed.length === 0 ? 0 : Math.ceil(this.options.points / 10)
    for (let i = 0; i < count; i++) {
      const { zxid, timeMs } = this.random.pick(timed)
      const state = await stateAt(this.backups, { timeMs: timeMs! }, { signal: never })
      const next = entries.find((entry) => entry.timeMs !== undefined && entry.timeMs > timeMs!)
      const isRight = state.zxid >= zxid && (next === undefined || state.zxid < next.zxid)
      if (!isRight)
        this.problems.push(`the time of 0x${zxid.toString(16)} led to 0x${state.zxid.toString(16)}`)
      const found = textsOf(new PastTree(state.db, state.zxid), isOurs)
      const wrong = differences(this.ledger.treeAt(state.zxid), found)
      if (wrong.length > 0) this.problems.push(`as of a time: ${wrong.join('; ')}`)
    }
    return count
  }

  /** Flips bits anywhere in the directory; each must be found, and its file be named. */
  private async flip(): Promise<number> {
    const files = readdirSync(this.backups)
      .filter((name) => /-(full|log)$/.test(name))
      .flatMap((name) => readdirSync(join(this.backups, name)).map((file) => `${name}/${file}`))
    let found = 0
    for (let i = 0; i < this.options.flips; i++) {
      const file: string = this.random.pick(files)
      const path = join(this.backups, file)
      const sound = readFileSync(path)
      const damaged = Buffer.from(sound)
      const at = this.random.int(sound.length)
      damaged[at]! ^= 1 << this.random.int(8)
      writeFileSync(path, damaged)
      const { code, stdout } = await this.zabra('backup', 'verify', this.backups)
      writeFileSync(path, sound)
      const isNamed = stdout.includes(file.split('/')[0]!) && stdout.includes(file.split('/')[1]!)
      if (code === 1 && isNamed) found++
      else this.problems.push(`byte ${at} of ${file} was flipped, and verify said: ${stdout}`)
    }
    return found
  }

  /** One subtree goes back, and nothing else changes in any way. */
  private async restoreSubtree(ensemble: EnsembleProcesses): Promise<void> {
    const client = await this.connect(ensemble)
    const zxid = await this.someZxid()
    const before = await everything(client)
    const to = `0x${zxid.toString(16)}`
    const words = ['restore', this.backups, '--to', to, '--path', '/w1']
    const dry = await this.zabra(...words, '--dry-run', '--json')
    if (JSON.stringify([...(await everything(client))]) !== JSON.stringify([...before]))
      this.problems.push('a dry run changed something')
    const { code, stderr } = await this.zabra(...words, '--yes')
    if (code !== 0) this.problems.push(`restore of /w1 as of ${to} ended with ${code}: ${stderr}`)
    const after = await everything(client)
    const own = (path: string): boolean => path === '/w1' || path.startsWith('/w1/')
    for (const path of new Set([...before.keys(), ...after.keys()])) {
      if (own(path)) continue
      const [one, other] = [before.get(path), after.get(path)]
      if (one?.all !== other?.all) this.problems.push(`restoring /w1 changed ${path}`)
    }
    const wanted = new Map([...this.ledger.treeAt(zxid)].filter(([path]) => own(path)))
    for (const path of new Set([...wanted.keys(), ...[...after.keys()].filter(own)])) {
      const node = wanted.get(path)
      const { data, acl } = (node === undefined ? {} : JSON.parse(node)) as Record<string, unknown>
      const isSame =
        node === undefined
          ? !after.has(path)
          : after.get(path)?.text === JSON.stringify({ data, acl })
      if (!isSame) this.problems.push(`${path} is not what it was at ${to}`)
    }
    const { changes } = JSON.parse(dry.stdout) as { changes: { path: string }[] }
    for (const { path } of changes)
      if (!own(path)) this.problems.push(`the dry run would have changed ${path}`)
    const again = await this.zabra(...words, '--dry-run', '--json')
    const left = (JSON.parse(again.stdout) as { changes: unknown[] }).changes
    if (left.length > 0) this.problems.push(`a second restore would change ${JSON.stringify(left)}`)
  }

  /** A state in the middle, as the data of three new servers. */
  private async restoreEnsemble(): Promise<void> {
    const dir = join(this.options.dir, 'restored')
    const zxid = await this.someZxid()
    let digest: string | undefined
    for (const id of [1, 2, 3]) {
      const dataDir = join(dir, String(id), 'data')
      const to = `0x${zxid.toString(16)}`
      const words = ['restore', this.backups, '--to', to, '--data-dir', dataDir, '--json']
      const { code, stdout, stderr } = await this.zabra(...words)
      if (code !== 0) this.problems.push(`restore ended with ${code}: ${stderr}`)
      else digest = (JSON.parse(stdout) as { digest: string }).digest
    }
    const ensemble = await this.ensemble(dir)
    const client = await this.connect(ensemble)
    const nodes = await everything(client)
    const wanted = this.ledger.treeAt(zxid)
    for (const path of new Set([...wanted.keys(), ...[...nodes.keys()].filter(isOurs)])) {
      const node = wanted.get(path)
      const { data, acl } = (node === undefined ? {} : JSON.parse(node)) as Record<string, unknown>
      if (
        node === undefined
          ? nodes.has(path)
          : nodes.get(path)?.text !== JSON.stringify({ data, acl })
      )
        this.problems.push(`${path} of the new ensemble is not what it was`)
    }
    const { mzxid } = await client.put('/after', '')
    const newest = this.ledger.entries.at(-1)!.zxid
    if (mzxid <= newest) this.problems.push('the new ensemble does not go on above the backups')
    if (digest === undefined) this.problems.push('the restored tree has no digest')
  }

  private async someZxid(): Promise<bigint> {
    const isCovered = await this.coveredZxids()
    const { entries } = this.ledger
    const known = entries.filter(({ zxid }) => isCovered(zxid))
    return known[Math.floor(known.length / 2)]!.zxid
  }
}

const never = new AbortController().signal

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function connectString(ensemble: EnsembleProcesses): string {
  return ensemble.ids.map((id) => `127.0.0.1:${ensemble.clientPort(id)}`).join(',')
}

/** Every node, with its data and ACL, and with all that there is of it. */
async function everything(
  client: Client,
): Promise<Map<string, { readonly text: string; readonly all: string }>> {
  await client.sync('/')
  const nodes = new Map<string, { text: string; all: string }>()
  const visit = async (path: string): Promise<void> => {
    if (path === '/zookeeper') return
    const { data, stat } = await client.get(path)
    const { acl } = await client.getAcl(path)
    const text = JSON.stringify({ data: Buffer.from(data).toString(), acl })
    // Sessions come and go beside the root.
    const shown =
      path === '/' ? [] : Object.entries(stat).map(([name, value]) => [name, String(value)])
    nodes.set(path, { text, all: JSON.stringify([text, shown]) })
    for (const name of await client.children(path))
      await visit(path === '/' ? `/${name}` : `${path}/${name}`)
  }
  await visit('/')
  return nodes
}
