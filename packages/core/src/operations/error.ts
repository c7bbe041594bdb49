import { codes } from '@zabra/protocol'
import type { WriteOperation } from './operation.ts'

/** Records that a request was refused: it takes a zxid and changes nothing. */
export const error: WriteOperation<'error', { readonly err: number }> = {
  prepare: ({ err }) => ({ type: codes.error, body: { err } }),
  apply: (_db, _header, { body }) => body.err,
}
