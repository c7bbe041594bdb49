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

/** Deletes a node that belongs to this session, whatever the connection does meanwhile. */
export function deleteOwn(client: Client, path: string, sessionId: bigint): Promise<void> {
  return deleteIf(client, path, sessionId, ({ ephemeralOwner }) => ephemeralOwner === sessionId)
}

/** Deletes the node that was made with this stat; where it may be gone, nothing in its place. */
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
      // It may have gone by the request whose reply was lost, and the name be somebody else's.
      if (error instanceof ConnectionLossError) mustLook ||= error.mayHaveHappened
      throw error
    }
  })
}

/**
 * Insists on giving back what belongs to this session. Once the session is over there is nothing
 * to give back: the server has done it.
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
