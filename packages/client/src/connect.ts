import { checkConnectOptions } from './check-options.ts'
import { Client } from './client.ts'
import type { CallOptions, ClientOptions } from './options.ts'

/**
 * Connects a client. Rejects with a TimeoutError after `timeoutMs` (15 s by default), which says
 * why each server could not be reached; the client is closed then. A session to resume stays.
 *
 *     await using client = await connect('zk-1:2181,zk-2:2181,zk-3:2181/app', { logger: console })
 */
export async function connect(
  servers: string | readonly string[],
  options: Omit<ClientOptions, 'servers'> & CallOptions = {},
): Promise<Client> {
  checkConnectOptions(options)
  const { signal, timeoutMs, ...rest } = options
  const client = new Client({ ...rest, servers })
  try {
    await client.connected({ signal, timeoutMs })
    return client
  } catch (error) {
    // Closing would end the session if a server is found at last; another attempt may resume it.
    if (options.session === undefined) await client.close()
    else await client.detach().catch(() => {})
    throw error
  }
}
