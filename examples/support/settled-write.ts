import { ConnectionLossError, isRefusal, type Refusal } from '@zabra/client'

/**
 * Repeats a write for as long as nobody can tell whether it was carried out. The refusal is what
 * the server answers when it was, so it counts as success. Not for a session after the one that
 * the signal belongs to.
 */
export async function settledWrite(
  write: () => Promise<unknown>,
  doneBefore: Refusal,
  session: AbortSignal,
): Promise<void> {
  for (;;) {
    session.throwIfAborted()
    try {
      await write()
      return
    } catch (error) {
      if (isRefusal(error, doneBefore)) return
      if (!(error instanceof ConnectionLossError)) throw error
    }
  }
}
