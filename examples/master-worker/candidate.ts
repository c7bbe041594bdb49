import { ClosedError, type Client } from '@zabra/client'
import { Election } from '@zabra/recipes'
import { paths } from './layout.ts'
import { Master, type MasterOptions } from './master.ts'

/**
 * Takes part in the election until the signal aborts or the client is closed, and is the master
 * whenever it is elected.
 */
export async function standAsMaster(
  client: Client,
  id: string,
  signal: AbortSignal,
  options: MasterOptions & { readonly onElected?: () => void } = {},
): Promise<void> {
  try {
    await new Election(client, paths.election, { id }).run(
      async (term, until) => {
        options.onElected?.()
        await new Master(client, term, options).run(until)
      },
      { signal },
    )
  } catch (error) {
    if (!signal.aborted && !(error instanceof ClosedError)) throw error
  }
}
