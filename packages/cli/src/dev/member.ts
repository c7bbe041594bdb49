import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const loopback = '127.0.0.1'

/** A server of `zabra dev`, as it is configured. */
export interface MemberPlan {
  readonly id: number
  readonly folder: string
  /** For TLS or for plain text: `zabra dev` opens one port for clients. */
  readonly clientPort: number
  /** The lines of zoo.cfg for TLS, which open the client port; undefined without TLS. */
  readonly tlsLines: readonly string[] | undefined
  readonly adminPort: number
  readonly quorumPort: number
  readonly electionPort: number
}

export function addressOf({ clientPort }: MemberPlan): string {
  return `${loopback}:${clientPort}`
}

/** The lines of zoo.cfg. */
function settingsOf(member: MemberPlan, all: readonly MemberPlan[]): string[] {
  const { clientPort, tlsLines } = member
  const settings = [
    'tickTime=1000',
    'initLimit=10',
    'syncLimit=5',
    `dataDir=${join(member.folder, 'data')}`,
    ...(tlsLines === undefined
      ? [`clientPort=${clientPort}`, `clientPortAddress=${loopback}`]
      : [...tlsLines, `secureClientPortAddress=${loopback}`]),
    `admin.serverPort=${member.adminPort}`,
    `admin.serverAddress=${loopback}`,
    'extendedTypesEnabled=true',
    '4lw.commands.whitelist=*',
  ]
  if (all.length === 1) return settings
  // With the client port, the configuration of the ensemble says which member a client port belongs to.
  const servers = all.map(({ id, quorumPort, electionPort, clientPort: port }) => {
    const clients = tlsLines === undefined ? `;${loopback}:${port}` : ''
    return `server.${id}=${loopback}:${quorumPort}:${electionPort}${clients}`
  })
  return [...settings, ...servers]
}

/** A server of `zabra dev` as a process of its own, which may be killed to see what happens. */
export class Member {
  readonly plan: MemberPlan
  private readonly child: ChildProcess
  private readonly logFile: string
  /** Resolves with words for how it ended. */
  readonly ended: Promise<string>

  constructor(plan: MemberPlan, all: readonly MemberPlan[], launcher: readonly string[]) {
    this.plan = plan
    this.logFile = join(plan.folder, 'server.log')
    mkdirSync(join(plan.folder, 'data'), { recursive: true })
    if (all.length > 1) writeFileSync(join(plan.folder, 'data', 'myid'), `${plan.id}\n`)
    const file = join(plan.folder, 'zoo.cfg')
    writeFileSync(file, `${settingsOf(plan, all).join('\n')}\n`)
    const log = openSync(this.logFile, 'a')
    const [program, ...args] = [...launcher, 'dev-member', file]
    // The server ends with its stdin, so that none stays behind whatever becomes of this process. In a
    // group of its own, because Ctrl-C is for `zabra dev`, which stops the servers in order.
    this.child = spawn(program, args, { stdio: ['pipe', log, log], detached: true })
    closeSync(log)
    this.child.stdin?.on('error', () => {})
    this.ended = new Promise((resolve) => {
      this.child.once('error', (error) => resolve(error.message))
      this.child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    })
  }

  get pid(): number | undefined {
    return this.child.pid
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** The last lines of its log. */
  logTail(lines = 10): string {
    try {
      return readFileSync(this.logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
    } catch {
      return ''
    }
  }

  async stop(): Promise<void> {
    if (!this.isRunning) return
    this.child.kill('SIGTERM')
    const kill = setTimeout(() => this.child.kill('SIGKILL'), 10_000)
    await this.ended
    clearTimeout(kill)
  }
}
