import { ConnectionLossError, SessionExpiredError, type Client } from '@zabra/client'

/** Does what may be done twice without harm, until neither connection nor session break over it. */
export async function persevere<T>(client: Client, act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      const isPassing = error instanceof ConnectionLossError || error instanceof SessionExpiredError
      if (!isPassing || client.state.name === 'closed') throw error
    }
  }
}
