/**
 * The protocol between the harness and a client program. The harness starts it as `PROGRAM checks
 * HOST:PORT ROOT`, and it prints
 *
 *     ok NAME | FAIL NAME why | absent NAME why      the result of a check
 *     note text                                      printed, not judged
 *     ask restart-soft | ask restart-hard            stop the server and start it again
 *     ask twin PATH                                  start a second program, then freeze it
 *     ask thaw                                       resume it; it must learn that its session expired
 *
 * The harness answers each `ask` with one line on stdin: `done`, or an error. The second program is
 * `PROGRAM twin HOST:PORT PATH`: it creates the ephemeral PATH with a session timeout of two
 * seconds, prints `ready`, and prints `expired` when it learns of the expiry. With `ask kill` it is
 * killed instead.
 */
import type { ManagedServer } from '../src/servers.ts'
import { say } from '../src/tools.ts'
import type { Check } from './catalogue.ts'
import type { Verdict, Verdicts } from './client.ts'
import { Program } from './program.ts'

const programTimeoutMs = 120_000
const twinTimeoutMs = 20_000

/** Runs a client program and collects a result for each check. */
export async function converse(
  command: readonly string[],
  checks: readonly Check[],
  server: ManagedServer,
): Promise<Verdicts> {
  const address = `${server.host}:${server.port}`
  const verdicts = new Map<string, Verdict>()
  const program = new Program([...command, 'checks', address, '/interop'])
  const twins = new Twins(command, address)
  const deadline = Date.now() + programTimeoutMs
  try {
    for (;;) {
      const line = await program.nextLine(deadline - Date.now())
      if (line === undefined) break
      const [kind = '', name = '', ...rest] = line.split(' ')
      const why = rest.join(' ')
      if (kind === 'ok') verdicts.set(name, { kind: 'ok' })
      else if (kind === 'FAIL') verdicts.set(name, { kind: 'failed', why })
      else if (kind === 'absent') verdicts.set(name, { kind: 'absent', why })
      else if (kind === 'note') say(`${server.name}: ${name} ${why}`)
      else if (kind === 'ask') program.tell(await fulfil(name, why, server, twins))
    }
  } finally {
    await program.end()
    await twins.end()
  }
  for (const { name } of checks) {
    if (verdicts.has(name)) continue
    verdicts.set(name, { kind: 'failed', why: `no verdict: ${program.ending}` })
  }
  return verdicts
}

async function fulfil(
  wish: string,
  path: string,
  server: ManagedServer,
  twins: Twins,
): Promise<string> {
  try {
    if (wish === 'restart-soft') await restart(server, false)
    else if (wish === 'restart-hard') await restart(server, true)
    else if (wish === 'twin') await twins.freezeOne(path)
    else if (wish === 'thaw') await twins.thaw()
    else if (wish === 'kill') await twins.kill()
    else return `nobody here can ${wish}`
    return 'done'
  } catch (error) {
    return String(error).replaceAll('\n', ' | ')
  }
}

/** If a start took as long as a session timeout, each client's session would be a gamble. */
async function restart(server: ManagedServer, isHard: boolean): Promise<void> {
  const startedAt = Date.now()
  await server.restart(isHard)
  const tookMs = Date.now() - startedAt
  if (tookMs > 3000)
    say(`${server.name}: a restart by ${isHard ? 'SIGKILL' : 'SIGTERM'} took ${tookMs} ms`)
}

/** The second instance of a client, which is frozen while the first one continues. */
class Twins {
  #command: readonly string[]
  #address: string
  #twin: Program | undefined

  constructor(command: readonly string[], address: string) {
    this.#command = command
    this.#address = address
  }

  async freezeOne(path: string): Promise<void> {
    await this.end()
    this.#twin = new Program([...this.#command, 'twin', this.#address, path])
    await this.#hear('ready')
    this.#twin.signal('SIGSTOP')
  }

  async thaw(): Promise<void> {
    this.#twin?.signal('SIGCONT')
    await this.#hear('expired')
    await this.end()
  }

  async kill(): Promise<void> {
    await this.end()
  }

  async end(): Promise<void> {
    await this.#twin?.end()
    this.#twin = undefined
  }

  async #hear(wanted: string): Promise<void> {
    const deadline = Date.now() + twinTimeoutMs
    for (;;) {
      const line = await this.#twin?.nextLine(deadline - Date.now())
      if (line === wanted) return
      if (line === undefined) {
        throw new Error(
          `the twin never said ${wanted}: ${this.#twin?.ending ?? 'there is no twin'}`,
        )
      }
    }
  }
}
