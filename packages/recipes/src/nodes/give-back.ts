import {
  ClosedError,
  ConnectionLossError,
  isRefusal,
  SessionExpiredError,
  type Client,
  type Stat,
} from '@zabra/client'
import { pause } from '@zabra/client/internal'
import { refusedPauseMs } from '../waiting/pause.ts'

interface MadeNode {
  readonly path: string
  readonly stat: Stat
}

/** Deletes a node that belongs to this session, whatever happens to the connection. */
export function deleteOwn(client: Client, path: string, sessionId: bigint): Promise<void> {
  return deleteIf(client, path, sessionId, ({ ephemeralOwner }) => ephemeralOwner === sessionId)
}

/** Deletes the node that was created with this stat, and no other node in its place. */
export function deleteMade(
  client: Client,
  { path, stat: { czxid, ephemeralOwner } }: MadeNode,
  isDoubtful = false,
): Promise<void> {
  return deleteIf(client, path, ephemeralOwner, (found) => found.czxid === czxid, isDoubtful)
}

function deleteIf(
  client: Client,
  path: string,
  sessionId: bigint,
  isMeant: (found: Stat) => boolean,
  isDoubtful = false,
): Promise<void> {
  let mustLook = isDoubtful
  return giveBackIn(client, sessionId, async () => {
    try {
      if (!mustLook) return await client.delete(path)
      const found = await client.exists(path, { consistency: 'session' })
      if (found !== undefined && isMeant(found))
        await client.delete(path, { ifVersion: found.version })
    } catch (error) {
      if (isRefusal(error, 'noNode')) return
      // It may have been deleted by a request whose reply was lost, and the name may be somebody
      // else's.
      if (error instanceof ConnectionLossError) mustLook ||= error.mayHaveHappened
      throw error
    }
  })
}

/**
 * Insists on releasing something that belongs to this session. Once the session is over there is
 * nothing to do: the server has released it.
 */
export async function giveBackIn(
  client: Client,
  sessionId: bigint,
  act: () => Promise<unknown>,
): Promise<void> {
  while (client.session?.id === sessionId) {
    try {
      await act()
      return
    } catch (error) {
      if (error instanceof SessionExpiredError || error instanceof ClosedError) return
      if (error instanceof ConnectionLossError || isRefusal(error, 'badVersion')) continue
      if (!isRefusal(error) || isRefusal(error, 'noAuth')) throw error
    }
    await pause(client.host, refusedPauseMs)
  }
}
