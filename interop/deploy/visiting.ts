import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Network } from './network.ts'
import type { Visit } from './visitor.ts'

/** A visitor at work, as a separate process in the network of the pods. */
export class Visiting {
  #output = ''
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown>

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#ended = once(child, 'close')
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => (this.#output += chunk.toString()))
  }

  static async start(network: Network, servers: string): Promise<Visiting> {
    const program = join(import.meta.dirname, 'visitor.ts')
    const node = [process.execPath, '--conditions=@zabra/source', '--import', 'tsx']
    // It knows the names of the pods, as they know each other's.
    const script = 'mount --make-rprivate / && mount --bind "$0" /etc/hosts && exec "$@"'
    const mounted = ['unshare', '--mount', 'sh', '-ec', script, network.hostsFile]
    const [command, ...args] = [...network.enter, ...mounted, ...node, program, servers]
    const visiting = new Visiting(spawn(command!, args, { stdio: 'pipe' }))
    while (!visiting.#output.includes('at work')) {
      const first = await Promise.race([once(visiting.#child.stdout!, 'data'), visiting.#ended])
      if (first === undefined || visiting.#child.exitCode !== null)
        throw new Error(`the visitor ended: ${visiting.#output}`)
    }
    return visiting
  }

  async end(): Promise<Visit> {
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 60_000)
    this.#child.stdin!.end()
    await this.#ended
    clearTimeout(late)
    const last = this.#output.trim().split('\n').at(-1)!
    if (!last.startsWith('{')) throw new Error(`the visitor failed: ${this.#output}`)
    return JSON.parse(last) as Visit
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

/** Nothing was lost: no acknowledged write, no session, no ephemeral. */
export function expectGoodVisit(visit: Visit): void {
  const { acknowledged, missing, isSameSession, isEphemeralThere } = visit
  if (acknowledged === 0 || missing > 0 || !isSameSession || !isEphemeralThere)
    throw new Error(`a client lost something: ${JSON.stringify(visit)}`)
}
