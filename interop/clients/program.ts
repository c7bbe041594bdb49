import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'

const alive = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

/** A child process with a line-based protocol. */
export class Program {
  #child: ChildProcess
  #lines: string[] = []
  #errors: string[] = []
  #ended = false
  #tooLate = false
  #wake: () => void = () => {}
  #closed: Promise<void>

  constructor(command: readonly string[], options: { readonly mergeErrors?: boolean } = {}) {
    // The shell merges both streams, so that errors keep their place between the other lines.
    const merged = options.mergeErrors === true ? ['sh', '-c', 'exec "$@" 2>&1', 'sh'] : []
    const [file = '', ...args] = [...merged, ...command]
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child = child
    alive.add(child)
    child.stdin.on('error', () => {})
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.#lines.push(line)
      this.#wake()
    })
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.#errors = [...this.#errors, line].slice(-6)
    })
    this.#closed = new Promise((resolve) => {
      const over = (): void => {
        alive.delete(child)
        this.#ended = true
        this.#wake()
        resolve()
      }
      child.on('close', over)
      child.on('error', (error) => {
        this.#errors.push(error.message)
        over()
      })
    })
  }

  /** The next line of its output; undefined when it has ended or the time is up. */
  async nextLine(timeoutMs: number): Promise<string | undefined> {
    const deadline = Date.now() + timeoutMs
    while (this.#lines.length === 0 && !this.#ended) {
      const leftMs = deadline - Date.now()
      if (leftMs <= 0) {
        this.#tooLate = true
        return undefined
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    return this.#lines.shift()
  }

  /** Undefined if it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid
  }

  tell(line: string): void {
    this.#child.stdin?.write(`${line}\n`)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Ends it, if it has not ended by itself. */
  async end(): Promise<void> {
    if (!this.#ended && !this.#tooLate) {
      // The conversation is over: it gets a moment to exit by itself.
      this.#child.stdin?.end()
    }
    const impatience = setTimeout(() => this.#child.kill('SIGKILL'), this.#tooLate ? 0 : 500)
    await this.#closed
    clearTimeout(impatience)
  }

  /** How it ended, for reports. */
  get ending(): string {
    const { exitCode, signalCode } = this.#child
    const code = signalCode === null ? `it ended with code ${exitCode}` : `ended by ${signalCode}`
    const how = this.#tooLate ? 'its time was up' : code
    return this.#errors.length === 0 ? how : `${how}, saying ${this.#errors.join(' | ')}`
  }
}
