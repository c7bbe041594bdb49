import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from '@zabra/client'
import { Configuration } from '@zabra/recipes'
import { defaults, settingsCodec, type Settings } from './settings.ts'

export const settingsPath = '/settings/greeter'

/** A web service that always uses the current settings from ZooKeeper. */
export class Greeter implements AsyncDisposable {
  readonly settings: Configuration<Settings>
  private readonly server = createServer((request, response) => {
    const { greeting, nameLengthMax } = this.settings.current
    const name = decodeURIComponent((request.url ?? '/').slice(1))
    response.end(`${greeting}, ${name.slice(0, nameLengthMax)}`)
  })

  private constructor(settings: Configuration<Settings>) {
    this.settings = settings
  }

  /** Invalid settings are reported to `onProblem`, and the last valid ones stay in use. */
  static async start(client: Client, onProblem: (problem: unknown) => void): Promise<Greeter> {
    const settings = await Configuration.open(client, settingsPath, {
      codec: settingsCodec,
      fallback: defaults,
      onProblem: ({ problem }) => onProblem(problem),
    })
    const greeter = new Greeter(settings)
    greeter.server.listen(0, '127.0.0.1')
    await once(greeter.server, 'listening')
    return greeter
  }

  async greet(name: string): Promise<string> {
    const { port } = this.server.address() as AddressInfo
    const response = await fetch(`http://127.0.0.1:${port}/${encodeURIComponent(name)}`)
    return response.text()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.close()
    this.server.closeAllConnections()
    await this.settings[Symbol.asyncDispose]()
  }
}
