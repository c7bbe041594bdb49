import { ConnectionLossError, SessionExpiredError, type Client } from '@zabra/client'

/**
 * Does again what may be done again, over the next connection or session, until its outcome is
 * known or the signal aborts.
 */
export async function insisting<T>(
  client: Client,
  signal: AbortSignal | undefined,
  act: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      const isSurvived =
        error instanceof ConnectionLossError || error instanceof SessionExpiredError
      if (!isSurvived || client.state.name === 'closed') throw error
    }
  }
}
