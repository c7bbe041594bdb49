import { TimeoutError } from '@zabra/client'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'

/** Somebody else has it, and the time to wait is over. */
function notGranted(what: string, waitMs: number): CommandError {
  return new CommandError(
    waitMs === 0 ? `${what} is held by another` : `${what} was not granted within ${waitMs} ms`,
    { code: 'notGranted', exitCode: exitCodes.conflict, hint: '`zabra locks` shows who holds it' },
  )
}

/** Waits for a right as `--wait` says. `attempt` does not wait. */
export async function take<Right>(
  what: string,
  waitMs: number | undefined,
  attempt: () => Promise<Right | undefined>,
  acquire: (options: { readonly timeoutMs?: number }) => Promise<Right>,
): Promise<Right> {
  if (waitMs === 0) {
    const right = await attempt()
    if (right === undefined) throw notGranted(what, 0)
    return right
  }
  try {
    return await acquire(waitMs === undefined ? {} : { timeoutMs: waitMs })
  } catch (error) {
    if (waitMs !== undefined && error instanceof TimeoutError) throw notGranted(what, waitMs)
    throw error
  }
}
