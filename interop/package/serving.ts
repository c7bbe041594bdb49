import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'

const startMs = 30_000
const stopMs = 10_000

/** A program that adds one node each time it connects to a server. */
export const visit = `
import { connect } from '@zabra/client'
const client = await connect(process.argv[2])
await client.ensure('/visits')
await client.create('/visits/v-', '', { sequential: true })
await client.close()
`

/** A server as a separate process, on free ports. */
export class Serving {
  readonly #child: ChildProcessWithoutNullStreams
  readonly ended: Promise<number | null>
  /** The connect string that the server prints. */
  readonly ready: Promise<string>
  /** Its stdout. */
  announcement = ''
  /** All its output. */
  output = ''

  constructor(
    program: string,
    args: readonly string[],
    cwd: string,
    env: Readonly<Record<string, string>> = {},
  ) {
    const options = ['--port', '0', '--address', '127.0.0.1', '--admin-port', '0']
    this.#child = spawn(program, [...args, 'server', ...options], {
      cwd,
      env: { ...process.env, ...env },
      detached: true,
    })
    const child = this.#child
    this.ended = new Promise((onEnd) => child.on('close', onEnd))
    this.ready = new Promise((onReady, onFailure) => {
      const late = setTimeout(() => {
        onFailure(new Error(`not ready in time: ${this.output}`))
      }, startMs)
      const hear = (chunk: Buffer): void => {
        this.output += chunk.toString()
        const address = /serves ZooKeeper clients on (\S+)/.exec(this.output)?.[1]
        if (address === undefined) return
        clearTimeout(late)
        onReady(address)
      }
      child.stdout.on('data', (chunk: Buffer) => {
        this.announcement += chunk.toString()
        hear(chunk)
      })
      child.stderr.on('data', hear)
      child.on('error', onFailure)
      child.on('close', () => onFailure(new Error(this.output)))
    })
    // Those who await it see the error; a server that exits after it was ready has not failed.
    this.ready.catch(() => {})
  }

  /** As a terminal or systemd does: every process of the group gets the signal. */
  async stop(): Promise<number | null> {
    const late = setTimeout(() => this.#signal('SIGKILL'), stopMs)
    this.#signal('SIGTERM')
    const code = await this.ended
    clearTimeout(late)
    return code
  }

  #signal(name: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#child
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, name)
  }
}
