import { codes } from '@zabra/protocol'
import {
  applyCreate,
  decodeCreate,
  prepareCreate,
  writePath,
  type CreateArguments,
} from './creating.ts'
import type { WriteOperation } from './operation.ts'

export const create: WriteOperation<'create', CreateArguments> = {
  decode: decodeCreate,
  prepare: (request, p) => prepareCreate(codes.create, request, p),
  apply: applyCreate,
  result: (_tree, txn, out) => writePath(txn, out),
}
