import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { Client, type ClientOptions, type State } from '../../src/index.ts'
import { Proxy } from './proxy.ts'

/** A server for all tests of a file, and clients that do not outlive their test. */
export function useServer(config: Record<string, string | number> = {}) {
  let server: RunningServer
  beforeAll(async () => {
    server = await startServer({ config: { tickTime: 100, ...config } })
  })
  afterAll(() => server.stop())

  const open = async (
    options: Partial<ClientOptions> = {},
    servers = server.connectString,
  ): Promise<Client> => {
    const client = new Client({ servers, sessionTimeoutMs: 2000, ...options })
    onTestFinished(() => client.close())
    await client.connected()
    return client
  }
  return {
    get server() {
      return server
    },
    open,
    /** A client whose connection can be broken. */
    async openProxied(options: Partial<ClientOptions> = {}) {
      const proxy = await Proxy.start(server.clientPort)
      onTestFinished(() => proxy.stop())
      return { proxy, client: await open(options, proxy.connectString) }
    },
  }
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
