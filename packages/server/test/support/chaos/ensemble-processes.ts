import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePorts } from '../free-ports.ts'
import { ServerProcess } from '../server-process.ts'
import { LinkProxy } from './link-proxy.ts'

export interface EnsembleOptions {
  readonly dir: string
  readonly servers: number
  /** Settings of every server, besides those of the ensemble. */
  readonly cfg: string
  /** Settings of one server. */
  readonly cfgOf?: (id: number) => string
  /** Without proxies, servers and clients connect directly. */
  readonly isProxied: boolean
  /** Additional environment variables of the servers. */
  readonly env?: Record<string, string>
}

interface Ports {
  readonly quorum: number
  readonly election: number
}

interface Link {
  readonly quorum: LinkProxy
  readonly election: LinkProxy
}

/** The servers of an ensemble, each a process, connected by links that can be disturbed. */
export class EnsembleProcesses {
  readonly ids: readonly number[]
  /** Servers that exited by themselves, and their last output. */
  readonly crashes: string[] = []
  /** The server that moving clients prefer, if any. */
  attraction: number | undefined
  private readonly options: EnsembleOptions
  private readonly running = new Map<number, ServerProcess>()
  private readonly paused = new Set<number>()
  private readonly logs = new Map<number, string[]>()
  private readonly ports = new Map<number, Ports>()
  private readonly links = new Map<string, Link>()
  private readonly clientLinks = new Map<number, LinkProxy>()
  private readonly onExit = (): void => {
    for (const server of this.running.values()) void server.kill()
  }

  static async open(options: EnsembleOptions): Promise<EnsembleProcesses> {
    const ensemble = new EnsembleProcesses(options)
    await ensemble.layOut()
    return ensemble
  }

  private constructor(options: EnsembleOptions) {
    this.options = options
    this.ids = Array.from({ length: options.servers }, (_, i) => i + 1)
    process.once('exit', this.onExit)
  }

  private async layOut(): Promise<void> {
    const free = await freePorts(2 * this.ids.length)
    for (const id of this.ids) {
      this.ports.set(id, { quorum: free[2 * id - 2]!, election: free[2 * id - 1]! })
      this.clientLinks.set(id, await LinkProxy.open(0))
    }
    if (!this.options.isProxied) return
    for (const from of this.ids) {
      for (const to of this.ids.filter((id) => id !== from)) {
        const { quorum, election } = this.ports.get(to)!
        this.links.set(`${from}>${to}`, {
          quorum: await LinkProxy.open(quorum),
          election: await LinkProxy.open(election),
        })
      }
    }
  }

  // --- processes -------------------------------------------------------------------------------

  isRunning(id: number): boolean {
    return this.running.has(id)
  }

  get runningIds(): number[] {
    return this.ids.filter((id) => this.running.has(id))
  }

  /** The port at which clients reach a server, also after restarts. */
  clientPort(id: number): number {
    if (this.options.isProxied) return this.clientLinks.get(id)!.port
    return this.running.get(id)?.port ?? 0
  }

  /** Resolves when its client port is open, or when the server was stopped before that. */
  async start(id: number): Promise<void> {
    if (this.running.has(id)) return
    const dir = this.folder(id)
    mkdirSync(join(dir, 'data'), { recursive: true })
    writeFileSync(join(dir, 'data', 'myid'), `${id}\n`)
    const { cfg, cfgOf = () => '', env } = this.options
    const server = ServerProcess.launch(dir, `${cfg}\n${cfgOf(id)}\n${this.members(id)}`, env)
    this.running.set(id, server)
    void server.exited.then(({ code, signal }) => {
      this.logsOf(id).push(server.output, `--- ended with ${signal ?? code} ---\n`)
      if (this.running.get(id) === server) this.running.delete(id)
      if (signal !== null || code === 0) return
      const lastWords = server.output.trimEnd().split('\n').slice(-12).join('\n')
      this.crashes.push(`server ${id} ended with code ${code}:\n${lastWords}`)
    })
    try {
      await server.untilServing()
      this.clientLinks.get(id)!.targetPort = server.port
    } catch (error) {
      const { code, signal } = await server.exited
      if (signal === null && code !== 0) throw error
    }
  }

  async kill(id: number): Promise<void> {
    this.paused.delete(id)
    this.clientLinks.get(id)!.targetPort = 0
    await this.running.get(id)?.kill()
  }

  /** Stops a server cleanly; returns the exit code. */
  async stop(id: number): Promise<number | null> {
    this.resume(id)
    const server = this.running.get(id)
    if (server === undefined) return 0
    const { code } = await server.stop()
    return code
  }

  pause(id: number): void {
    if (!this.running.has(id)) return
    this.paused.add(id)
    this.running.get(id)!.pause()
  }

  resume(id: number): void {
    if (this.paused.delete(id)) this.running.get(id)?.resume()
  }

  /** Deletes its data; the server must not be running. */
  loseDisk(id: number): void {
    rmSync(join(this.folder(id), 'data'), { recursive: true, force: true })
  }

  // --- links -----------------------------------------------------------------------------------

  /** Holds everything on the way from one server to another. */
  holdFrom(from: number, to: number): void {
    for (const proxy of this.proxies(from, to)) proxy.hold('up')
    for (const proxy of this.proxies(to, from)) proxy.hold('down')
  }

  /** All links between two servers, in both directions. */
  between(a: number, b: number): LinkProxy[] {
    return [...this.proxies(a, b), ...this.proxies(b, a)]
  }

  clientLink(id: number): LinkProxy {
    return this.clientLinks.get(id)!
  }

  private proxies(from: number, to: number): LinkProxy[] {
    const link = this.links.get(`${from}>${to}`)
    return link === undefined ? [] : [link.quorum, link.election]
  }

  /** Restores all links and starts all servers. */
  async heal(): Promise<void> {
    for (const { quorum, election } of this.links.values()) {
      quorum.heal()
      election.heal()
    }
    for (const link of this.clientLinks.values()) link.heal()
    this.attraction = undefined
    for (const id of this.paused) this.resume(id)
    await Promise.all(this.ids.map((id) => this.start(id)))
  }

  // --- what they say ---------------------------------------------------------------------------

  /** The answer to a four-letter word; empty if there is none. */
  ask(id: number, word: string, msMax = 1000): Promise<string> {
    const port = this.running.get(id)?.port ?? 0
    if (port === 0) return Promise.resolve('')
    return new Promise((resolve) => {
      let text = ''
      const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(word))
      const impatience = setTimeout(() => socket.destroy(), msMax)
      socket.on('data', (chunk) => (text += chunk.toString()))
      socket.on('error', () => {})
      socket.on('close', () => {
        clearTimeout(impatience)
        resolve(text)
      })
    })
  }

  async mode(id: number): Promise<string | undefined> {
    return /^Mode: (\w+)/m.exec(await this.ask(id, 'srvr'))?.[1]
  }

  async leader(): Promise<number | undefined> {
    const modes = await Promise.all(this.runningIds.map(async (id) => [id, await this.mode(id)]))
    return modes.find(([, mode]) => mode === 'leader')?.[0] as number | undefined
  }

  logOf(id: number): string {
    const server = this.running.get(id)
    return [...this.logsOf(id), server?.output ?? ''].join('')
  }

  /** How often a leader synchronized another server in each way, according to the logs. */
  get synchronisations(): Record<'diff' | 'trunc' | 'snap', number> {
    const said = this.ids.map((id) => this.logOf(id)).join('')
    const count = (plan: string): number =>
      [...said.matchAll(/zab: synchronizing learner .*plan=(\w+)/g)].filter(
        (one) => one[1] === plan,
      ).length
    return { diff: count('diff'), trunc: count('trunc'), snap: count('snap') }
  }

  /** Kills the servers that still run. If the folder is kept, so is their output. */
  async close(keepsLogs: boolean): Promise<void> {
    await Promise.all(this.ids.map((id) => this.kill(id)))
    for (const { quorum, election } of this.links.values()) {
      quorum.close()
      election.close()
    }
    for (const link of this.clientLinks.values()) link.close()
    process.off('exit', this.onExit)
    if (!keepsLogs) return
    for (const id of this.ids) writeFileSync(join(this.folder(id), 'server.log'), this.logOf(id))
  }

  private logsOf(id: number): string[] {
    const logs = this.logs.get(id) ?? []
    this.logs.set(id, logs)
    return logs
  }

  private folder(id: number): string {
    return join(this.options.dir, String(id))
  }

  /**
   * The members as one server must see them: itself at its own port, the others behind their links.
   */
  private members(self: number): string {
    const lines = this.ids.map((id) => {
      const link = this.links.get(`${self}>${id}`)
      const { quorum, election } = this.ports.get(id)!
      return `server.${id}=127.0.0.1:${link?.quorum.port ?? quorum}:${link?.election.port ?? election}`
    })
    return lines.join('\n')
  }
}
