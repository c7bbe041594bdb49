import { randomUUID } from 'node:crypto'
import { Client, type ClientOptions } from '@zabra/client'
import { startServer, type RunningServer } from '@zabra/server'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

/** For sessions whose end would hide that somebody waits for a connection without a limit. */
export const longerThanTests = 120_000

/**
 * A server for all tests of a file, with a separate tree for each client, or the server that
 * ZABRA_TEST_CONNECT names, which may be an Apache.
 */
export function useServer(config: Record<string, string | number> = {}) {
  const elsewhere = process.env['ZABRA_TEST_CONNECT']
  const chroot = `/test-${randomUUID()}`
  let server: RunningServer | undefined
  let servers = elsewhere ?? ''
  beforeAll(async () => {
    if (elsewhere === undefined) {
      server = await startServer({
        config: { tickTime: 100, maxSessionTimeout: longerThanTests, ...config },
      })
      servers = server.connectString
    }
    const client = new Client({ servers })
    await client.ensure(chroot)
    await client.close()
  })
  afterAll(async () => {
    if (elsewhere !== undefined) {
      const client = new Client({ servers })
      await client.deleteTree(chroot)
      await client.close()
    }
    await server?.stop()
  })
  return {
    /** Includes the chroot. */
    get connectString() {
      return `${servers}${chroot}`
    },
    /** Absent if the server is not under our control. */
    get server() {
      return server
    },
    /** A client that is closed at the end of its test. */
    async open(options: Partial<ClientOptions> = {}): Promise<Client> {
      const client = new Client({
        servers: `${servers}${chroot}`,
        sessionTimeoutMs: 2000,
        ...options,
      })
      onTestFinished(() => client.close())
      await client.connected()
      return client
    },
  }
}
