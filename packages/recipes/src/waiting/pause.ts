import { isRefusal } from '@zabra/client'

/** How long to wait before asking a server again that refused: its disk is full, or it is busy. */
export const refusedPauseMs = 500

/** Whether asking again later may help: the server may have room again, a permission does not come. */
export function mayEnd(refusal: unknown): boolean {
  return isRefusal(refusal) && !isRefusal(refusal, 'noAuth')
}
