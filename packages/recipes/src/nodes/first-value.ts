import {
  ConnectionLossError,
  isRefusal,
  joinPath,
  parentPath,
  SessionExpiredError,
  type Client,
} from '@zabra/client'
import { makeGuid } from '@zabra/client/internal'
import { deleteOwn } from './give-back.ts'
import { findOut, persist } from './node.ts'
import { ensureParent } from './parents.ts'

/** This call has created the node; resolves when its mark is deleted as well. */
export interface FirstValue {
  readonly cleared: Promise<void>
}

/**
 * Creates a node with its first value, once; undefined if it exists already. The same transaction
 * creates an ephemeral child with a unique name, which tells after a lost reply whether it
 * happened, whatever others have made of the value since.
 */
export async function makeFirst(
  client: Client,
  path: string,
  data: Uint8Array,
  signal: AbortSignal,
): Promise<FirstValue | undefined> {
  const mark = joinPath(path, `_c_${makeGuid(() => client.host.random())}-witness`)
  const attempt: Attempt = { isUncertain: false, session: undefined }
  const clear = (): Promise<void> =>
    attempt.session === undefined
      ? Promise.resolve()
      : deleteOwn(client, mark, attempt.session).catch(() => {})
  try {
    const isMade = await make(client, path, data, mark, attempt, signal)
    return isMade ? { cleared: clear() } : undefined
  } catch (error) {
    // A node that still appears must not stay marked.
    if (attempt.isUncertain) void clear()
    throw error
  }
}

interface Attempt {
  isUncertain: boolean
  session: bigint | undefined
}

async function make(
  client: Client,
  path: string,
  data: Uint8Array,
  mark: string,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<boolean> {
  for (;;) {
    await client.connected({ signal })
    // After a loss, only this session can still execute it.
    if (!attempt.isUncertain) attempt.session = client.session?.id
    let refusal: unknown
    try {
      await client
        .transaction()
        .create(path, data)
        .create(mark, '', { ephemeral: true })
        .commit({ signal })
      return true
    } catch (error) {
      if (error instanceof ConnectionLossError) attempt.isUncertain ||= error.mayHaveHappened
      else if (isRefusal(error)) refusal = error
      else if (!(error instanceof SessionExpiredError) || error.mayHaveHappened) {
        // After giving up, the outcome is unknown as well.
        attempt.isUncertain = true
        throw error
      }
    }
    if (attempt.isUncertain) {
      const look = () => client.exists(mark, { signal, consistency: 'session' })
      if ((await findOut(client, signal, look)) !== undefined) return true
      if (client.session?.id !== attempt.session) throw new SessionExpiredError(true, { path })
    }
    if (isRefusal(refusal, 'nodeExists')) return false
    const isParentMissing = isRefusal(refusal, 'noNode')
    if (refusal !== undefined && !isParentMissing) throw refusal
    if (isParentMissing)
      await persist(client, signal, () => ensureParent(client, parentPath(path), { signal }))
  }
}
