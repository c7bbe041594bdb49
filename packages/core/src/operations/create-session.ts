import { codes, errorCodes } from '@zabra/protocol'
import type { WriteOperation } from './operation.ts'

/** Starts a session. The server makes this transaction when it accepts a new client. */
export const createSession: WriteOperation<'createSession', { readonly timeoutMs: number }> = {
  prepare: ({ timeoutMs }) => ({ type: codes.createSession, body: { timeOut: timeoutMs } }),

  apply(db, header, { body }) {
    db.sessions.set(header.clientId, body.timeOut)
    return errorCodes.ok
  },
}
