import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A request of the parent to `serve.ts`. */
export type Ask = { readonly type: 'memory' } | { readonly type: 'fail'; readonly code?: string }

export interface Memory {
  readonly heapUsed: number
  readonly external: number
  readonly rss: number
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

const here = dirname(fileURLToPath(import.meta.url))
const script = join(here, 'serve.ts')
const servingLine = /serves ZooKeeper clients on \S+:(\d+)/
const startMsMax = 30_000
const outputMax = 4_000_000

/** `zabra server` as a child process on a free port; it ends with this process at the latest. */
export class ServerProcess {
  /** Its output, both streams together; only the end if it is long. */
  output = ''
  readonly exited: Promise<Exit>
  private readonly child: ChildProcess
  private servingPort = 0

  /** Resolves when it serves. */
  static async start(dir: string, cfg: string): Promise<ServerProcess> {
    const server = ServerProcess.launch(dir, cfg)
    await server.untilServing()
    return server
  }

  /**
   * Starts the process without waiting. DESCRIPTORS_MAX limits the descriptors that it may open.
   */
  static launch(dir: string, cfg: string, env: Record<string, string> = {}): ServerProcess {
    const dataDir = join(dir, 'data')
    mkdirSync(dataDir, { recursive: true })
    const file = join(dir, 'zoo.cfg')
    const settings = [`dataDir=${dataDir}`, 'admin.enableServer=false', 'maxClientCnxns=0']
    writeFileSync(file, `${settings.join('\n')}\nclientPortAddress=127.0.0.1\n${cfg}\n`)
    return new ServerProcess(file, env)
  }

  private constructor(configuration: string, env: Record<string, string>) {
    const options = ['--expose-gc', '--conditions=@zabra/source', '--import', 'tsx']
    const command = [process.execPath, ...options, script, configuration, '--port', '0']
    const { DESCRIPTORS_MAX: max } = env
    const limited = max === undefined ? [] : ['sh', '-c', `ulimit -n ${max}; exec "$@"`, 'sh']
    const [program = '', ...args] = [...limited, ...command]
    this.child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ...env },
      cwd: here, // From where `tsx` is found.
    })
    const collect = (chunk: Buffer): void => {
      this.output += chunk.toString()
      if (this.output.length > outputMax) this.output = this.output.slice(-outputMax / 2)
    }
    this.child.stdout?.on('data', collect)
    this.child.stderr?.on('data', collect)
    this.exited = new Promise((resolve) => {
      this.child.once('close', (code, signal) => resolve({ code, signal }))
    })
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  get port(): number {
    return this.servingPort
  }

  async untilServing(): Promise<void> {
    await this.untilSays(servingLine, startMsMax)
    this.servingPort = Number(servingLine.exec(this.output)![1])
  }

  /** Resolves once the output matches; rejects if the process exits first, or it takes too long. */
  async untilSays(expected: RegExp, msMax = 15_000): Promise<void> {
    if (expected.test(this.output)) return
    const { stdout, stderr } = this.child
    let check!: () => void
    let impatience: NodeJS.Timeout | undefined
    const said = new Promise<boolean>((resolve) => {
      check = () => expected.test(this.output) && resolve(true)
      impatience = setTimeout(() => resolve(false), msMax)
      void this.exited.then(() => resolve(expected.test(this.output)))
    })
    stdout?.on('data', check)
    stderr?.on('data', check)
    const wasSaid = await said
    clearTimeout(impatience)
    stdout?.off('data', check)
    stderr?.off('data', check)
    if (!wasSaid) throw new Error(`the server did not say ${expected}, but:\n${this.output}`)
  }

  /** Sends SIGKILL; resolves when the process is gone. */
  kill(): Promise<Exit> {
    this.child.kill('SIGKILL')
    return this.exited
  }

  /** Sends SIGTERM, for a clean stop. */
  stop(): Promise<Exit> {
    this.child.kill('SIGTERM')
    return this.exited
  }

  /** Sends SIGSTOP: it stops working, but its sockets stay open. */
  pause(): void {
    this.child.kill('SIGSTOP')
  }

  /** Sends SIGCONT: it continues as if no time had passed. */
  resume(): void {
    this.child.kill('SIGCONT')
  }

  /** The memory that it holds after a garbage collection. */
  async memory(): Promise<Memory> {
    return (await this.ask({ type: 'memory' })) as Memory
  }

  /** Makes every write to a file fail with this code, or succeed again. */
  async failWrites(code?: string): Promise<void> {
    await this.ask(code === undefined ? { type: 'fail' } : { type: 'fail', code })
  }

  private ask(ask: Ask): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.child.once('message', resolve)
      void this.exited.then(() => reject(new Error(`the server is gone:\n${this.output}`)))
      this.child.send(ask)
    })
  }
}

/** Runs the work with a temporary folder, which is deleted afterwards. */
export async function inTemporaryFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'zabra-test-'))
  try {
    return await work(dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
