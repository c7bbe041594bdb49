import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { Client, type ClientOptions, type State } from '../../src/index.ts'
import { Proxy } from './proxy.ts'

export interface Fixture {
  /**
   * A server that reports neither the zxid of a change nor the stat of nodes created by a
   * transaction.
   */
  readonly isTerse: boolean
  readonly connectString: string
  readonly port: number
  open(options?: Partial<ClientOptions>, servers?: string): Promise<Client>
  /** A client whose connection can be broken. */
  openProxied(options?: Partial<ClientOptions>): Promise<{ client: Client; proxy: Proxy }>
}

/** Another server to test against, as `host:port`; by default zabra in this process. */
const given = process.env['ZABRA_TEST_CONNECT']

/** A server for all tests of a file, and clients that are closed at the end of their test. */
export function useServer(config: Record<string, string | number> = {}): Fixture {
  let server: RunningServer | undefined
  beforeAll(async () => {
    if (given === undefined) server = await startServer({ config: { tickTime: 100, ...config } })
  })
  afterAll(() => server?.stop())

  const fixture: Fixture = {
    isTerse: process.env['ZABRA_TEST_RELEASE'] === '3.8',

    get connectString(): string {
      return server?.connectString ?? given!
    },

    get port(): number {
      return Number(fixture.connectString.split(':')[1])
    },

    async open(
      options: Partial<ClientOptions> = {},
      servers = fixture.connectString,
    ): Promise<Client> {
      const client = new Client({ servers, sessionTimeoutMs: 2000, ...options })
      onTestFinished(() => client.close())
      await client.connected()
      return client
    },

    async openProxied(options: Partial<ClientOptions> = {}) {
      const proxy = await Proxy.start(fixture.port)
      onTestFinished(() => proxy.stop())
      return { proxy, client: await fixture.open(options, proxy.connectString) }
    },
  }
  return fixture
}

/** Resolves at the next change of state to this one. */
export function nextState<Name extends State['name']>(
  client: Client,
  name: Name,
): Promise<Extract<State, { name: Name }>> {
  return new Promise((resolve) => {
    const stop = client.onState((state) => {
      if (state.name !== name) return
      stop()
      resolve(state as Extract<State, { name: Name }>)
    })
  })
}

export const textOf = (data: Uint8Array): string => Buffer.from(data).toString()
