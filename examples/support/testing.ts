import { randomUUID } from 'node:crypto'
import { Client, type ClientOptions } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { startProxy } from '@zabra/testing'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

/** Another server to test against, as `host:port`; by default zabra in this process. */
const given = process.env['ZABRA_TEST_CONNECT']

/**
 * A server for the tests of a file, a separate tree for each test, and clients that end with the
 * test.
 */
export function useServer() {
  let server: RunningServer | undefined
  let address = given ?? ''
  beforeAll(async () => {
    if (given !== undefined) return
    server = await startServer({ config: { tickTime: 100 } })
    address = server.connectString
  })
  afterAll(() => server?.stop())

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
    /** The path of an empty tree. */
    tree: async () => {
      const chroot = `/test-${randomUUID()}`
      const admin = await open(address, chroot)
      await admin.ensure('/')
      return {
        connectString: address + chroot,
        open: (options?: Partial<ClientOptions>) => open(address, chroot, options),
        /** A client whose connection can be cut. */
        openProxied: async (options?: Partial<ClientOptions>) => {
          const proxy = await startProxy(address)
          onTestFinished(() => proxy.stop())
          return { proxy, client: await open(proxy.connectString, chroot, options) }
        },
      }
    },
  }
}
