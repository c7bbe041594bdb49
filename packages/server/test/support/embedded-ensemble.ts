import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask } from './ask.ts'
import { startServer } from '../../src/embedded.ts'
import type { RunningServer } from '../../src/running/running-server.ts'
import { freePorts } from './free-ports.ts'
import { RawClient, type ConnectOptions } from './raw-client.ts'
import { until } from './until.ts'

export interface EnsembleOptions {
  /** Prepares the data folder of each server before the first start. */
  readonly prepare?: (folder: string) => void
  /** Adds an observer, which is the fourth server. */
  readonly withObserver?: boolean
  /** Whether the servers publish their client ports in the configuration. */
  readonly hasClientPorts?: boolean
  /** Settings of one server, besides those of the ensemble. */
  readonly settingsOf?: (id: number) => Record<string, string>
}

/**
 * Three servers of one ensemble in this process, with real sockets and files, and an observer if
 * asked for.
 */
export class EmbeddedEnsemble implements AsyncDisposable {
  readonly ids: readonly number[]
  readonly servers = new Map<number, RunningServer>()
  private readonly folder = mkdtempSync(join(tmpdir(), 'zabra-ensemble-'))
  private readonly settings: Record<string, string>
  private readonly settingsOf: EnsembleOptions['settingsOf']
  /** Each server keeps its client port across restarts. */
  private readonly clientPorts: readonly number[]

  private constructor(
    settings: Record<string, string>,
    clientPorts: readonly number[],
    ids: readonly number[],
    settingsOf: EnsembleOptions['settingsOf'],
  ) {
    this.settings = settings
    this.clientPorts = clientPorts
    this.ids = ids
    this.settingsOf = settingsOf
  }

  static async start(
    settings: Record<string, string>,
    { prepare, withObserver = false, hasClientPorts = false, settingsOf }: EnsembleOptions = {},
  ): Promise<EmbeddedEnsemble> {
    const ids = withObserver ? [1, 2, 3, 4] : [1, 2, 3]
    const ports = await freePorts(3 * ids.length)
    const lines = ids.map((id) => {
      const [quorum, election, client] = ports.slice(3 * id - 3)
      const role = id === 4 ? 'observer' : 'participant'
      const clients = hasClientPorts ? `;127.0.0.1:${client}` : ''
      return [`server.${id}`, `127.0.0.1:${quorum}:${election}:${role}${clients}`]
    })
    const ensemble = new EmbeddedEnsemble(
      {
        ...Object.fromEntries(lines),
        ...(hasClientPorts ? { '4lw.commands.whitelist': '*' } : {}),
        ...settings,
      },
      ids.map((id) => ports[3 * id - 1]!),
      ids,
      settingsOf,
    )
    for (const id of ensemble.ids) {
      mkdirSync(ensemble.folderOf(id))
      prepare?.(ensemble.folderOf(id))
    }
    await Promise.all(ensemble.ids.map((id) => ensemble.start(id)))
    await until(() => [...ensemble.servers.values()].every(({ peer }) => peer.isServing))
    return ensemble
  }

  /** `changed` are settings of this server that differ from those of the ensemble. */
  async start(id: number, changed: Record<string, string> = {}): Promise<void> {
    const config = {
      tickTime: '400',
      initLimit: '10',
      syncLimit: '5',
      preAllocSize: '64',
      clientPort: String(this.clientPorts[id - 1]),
      ...this.settings,
      ...this.settingsOf?.(id),
      ...changed,
      myid: String(id),
      dataDir: this.folderOf(id),
    }
    this.servers.set(id, await startServer({ config }))
  }

  folderOf(id: number): string {
    return join(this.folder, String(id))
  }

  async stop(id: number): Promise<void> {
    await this.servers.get(id)?.stop()
    this.servers.delete(id)
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.servers.keys()].map((id) => this.stop(id)))
    rmSync(this.folder, { recursive: true, force: true })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }

  server(id: number): RunningServer {
    return this.servers.get(id)!
  }

  get leader(): number {
    return this.ids.find((id) => this.servers.get(id)?.ensembleState === 'leading')!
  }

  get followers(): number[] {
    return this.ids.filter((id) => this.servers.get(id)?.ensembleState === 'following')
  }

  /** Addresses of these servers, or of all of them, whether or not they run. */
  connectString(...ids: readonly number[]): string {
    const chosen = ids.length === 0 ? this.ids : ids
    return chosen.map((id) => `127.0.0.1:${this.clientPorts[id - 1]}`).join(',')
  }

  /** The id of the server at this address. */
  idAt(address: string): number {
    return this.clientPorts.indexOf(Number(address.split(':')[1])) + 1
  }

  connect(id: number, options?: ConnectOptions): Promise<RawClient> {
    return RawClient.connect(this.server(id).clientPort, options)
  }

  /** The answer of a server to a four-letter word. */
  ask(id: number, word: string): Promise<string> {
    return ask(this.server(id).clientPort, word)
  }
}
