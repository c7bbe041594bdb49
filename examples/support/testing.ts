import { randomUUID } from 'node:crypto'
import { Client, type ClientOptions } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { Proxy } from '../../packages/client/test/support/proxy.ts'

/** A server for the tests of a file, a tree of its own for each test, clients that end with it. */
export function useServer() {
  let server: RunningServer
  beforeAll(async () => {
    server = await startServer({ config: { tickTime: 100 } })
  })
  afterAll(() => server.stop())

  const open = async (
    servers: string,
    chroot: string,
    options: Partial<ClientOptions> = {},
  ): Promise<Client> => {
    const client = new Client({ servers: servers + chroot, sessionTimeoutMs: 500, ...options })
    onTestFinished(() => client.close())
    await client.connected()
    return client
  }
  return {
    /** Of a fresh tree. */
    tree: async () => {
      const chroot = `/test-${randomUUID()}`
      const admin = await open(server.connectString, chroot)
      await admin.ensure('/')
      return {
        connectString: server.connectString + chroot,
        open: (options?: Partial<ClientOptions>) => open(server.connectString, chroot, options),
        /** A client that can be cut off. */
        openProxied: async (options?: Partial<ClientOptions>) => {
          const proxy = await Proxy.start(server.clientPort)
          onTestFinished(() => proxy.stop())
          return { proxy, client: await open(proxy.connectString, chroot, options) }
        },
      }
    },
  }
}
