import { codes } from '@zabra/protocol'
import {
  applyCreate,
  decodeCreate,
  prepareCreate,
  writePathAndStat,
  type CreateArguments,
} from './creating.ts'
import type { WriteOperation } from './operation.ts'

export const create2: WriteOperation<'create2', CreateArguments> = {
  decode: decodeCreate,
  prepare: (request, p) => prepareCreate(codes.create2, request, p),
  apply: applyCreate,
  result: writePathAndStat,
}
