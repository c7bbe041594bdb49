import { Client } from './client.ts'
import type { CallOptions, ClientOptions } from './options.ts'

/** A client that is connected. Where it cannot be, and the signal or deadline says so, it is closed. */
export async function connect(
  servers: string | readonly string[],
  options: Omit<ClientOptions, 'servers'> & CallOptions = {},
): Promise<Client> {
  const { signal, timeoutMs, ...rest } = options
  const client = new Client({ ...rest, servers })
  try {
    await client.connected({ signal, timeoutMs })
    return client
  } catch (error) {
    await client.close()
    throw error
  }
}
