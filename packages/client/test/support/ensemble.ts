import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer, type RunningServer } from '@zabra/server'

/** Three servers in this process; each keeps its client port after a restart. */
export class Ensemble implements AsyncDisposable {
  private readonly folder = mkdtempSync(join(tmpdir(), 'zabra-client-'))
  private readonly servers = new Map<number, RunningServer>()
  private readonly ports: readonly number[]
  private readonly settings: Record<string, string>

  private constructor(ports: readonly number[], settings: Record<string, string>) {
    this.ports = ports
    this.settings = settings
  }

  static async start(settings: Record<string, string> = {}): Promise<Ensemble> {
    const ensemble = new Ensemble(await freePorts(9), settings)
    for (const id of [1, 2, 3]) mkdirSync(join(ensemble.folder, String(id)))
    await Promise.all([1, 2, 3].map((id) => ensemble.start(id)))
    return ensemble
  }

  async start(id: number): Promise<void> {
    const members = [1, 2, 3].map((n) => {
      const [peer, election] = this.ports.slice(3 * n - 3)
      return [`server.${n}`, `127.0.0.1:${peer}:${election}:participant`]
    })
    const config = {
      tickTime: '200',
      initLimit: '10',
      syncLimit: '5',
      ...Object.fromEntries(members),
      ...this.settings,
      myid: String(id),
      clientPort: String(this.ports[3 * id - 1]),
      dataDir: join(this.folder, String(id)),
    }
    this.servers.set(id, await startServer({ config }))
  }

  async stop(id: number): Promise<void> {
    await this.servers.get(id)?.stop()
    this.servers.delete(id)
  }

  connectString(...ids: readonly number[]): string {
    return ids.map((id) => `127.0.0.1:${this.ports[3 * id - 1]}`).join(',')
  }

  /** The id of the server at this address. */
  idOf(server: string): number {
    return this.ports.indexOf(Number(server.split(':')[1])) / 3 + 1 / 3
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.servers.keys()].map((id) => this.stop(id)))
    rmSync(this.folder, { recursive: true, force: true })
  }
}

async function freePorts(count: number): Promise<number[]> {
  const listeners = Array.from({ length: count }, () => createServer())
  const ports = await Promise.all(
    listeners.map(
      (listener) =>
        new Promise<number>((resolve) =>
          listener.listen(0, '127.0.0.1', () => resolve((listener.address() as AddressInfo).port)),
        ),
    ),
  )
  await Promise.all(listeners.map((one) => new Promise((resolve) => one.close(resolve))))
  return ports
}
