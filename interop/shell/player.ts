import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { createInterface } from 'node:readline'

/** The output of a shell for one command. */
export interface Said {
  readonly command: string
  readonly stdout: readonly string[]
  readonly stderr: readonly string[]
}

/** The node whose data mark the end of an answer on stdout. */
const markPath = '/shell-mark'
const markData = '=== mark ==='
const absentMark = '/shell-mark-absent'

/** How late output of other threads, such as notifications, may come after the answer. */
const settleMs = 150
const patienceMs = 30_000

/** Creates the node of the mark on a server that does not have it. */
export const markCommand = `create ${markPath} "${markData}"`

/**
 * Types commands into a shell, one by one, and records the output of each. An answer ends with two
 * marks: the data of a node on stdout, and an error about another node on stderr.
 */
export class Player {
  private readonly child: ChildProcessWithoutNullStreams
  private stdout: string[] = []
  private stderr: string[] = []
  private onLine: () => void = () => {}
  private hasEnded = false

  constructor(command: readonly string[], env: Readonly<Record<string, string>>) {
    const [program = '', ...args] = command
    this.child = spawn(program, args, { env: { ...process.env, ...env } })
    this.child.stdin.on('error', () => {})
    for (const [stream, lines] of [
      [this.child.stdout, () => this.stdout],
      [this.child.stderr, () => this.stderr],
    ] as const) {
      createInterface({ input: stream }).on('line', (line) => {
        lines().push(line)
        this.onLine()
      })
    }
    this.child.on('close', () => {
      this.hasEnded = true
      this.onLine()
    })
  }

  async play(command: string): Promise<Said> {
    this.child.stdin.write(`${command}\nget ${markPath}\nstat ${absentMark}\n`)
    const isMark = (line: string): boolean => line === markData
    const isAbsent = (line: string): boolean => line.includes(absentMark)
    // A shell without a connection prints this once per command.
    const refused = (): number => this.stdout.filter((line) => line === 'Not connected').length
    const isDone = (): boolean =>
      this.hasEnded || refused() >= 2 || (this.stdout.some(isMark) && this.stderr.some(isAbsent))
    const deadline = Date.now() + patienceMs
    while (!isDone() && Date.now() < deadline) await this.nextLine(deadline - Date.now())
    if (!this.hasEnded) await new Promise((resolve) => setTimeout(resolve, settleMs))
    const said = {
      command,
      stdout: this.stdout.filter((line) => !isMark(line)),
      stderr: this.stderr.filter((line) => !isAbsent(line)),
    }
    this.stdout = []
    this.stderr = []
    return said
  }

  get isOver(): boolean {
    return this.hasEnded
  }

  async end(): Promise<number | null> {
    if (!this.hasEnded) {
      const ended = new Promise((resolve) => this.child.once('close', resolve))
      this.child.stdin.end()
      const kill = setTimeout(() => this.child.kill('SIGKILL'), patienceMs)
      await ended
      clearTimeout(kill)
    }
    return this.child.exitCode
  }

  private nextLine(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.onLine = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
