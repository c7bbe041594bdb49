import { codes } from '@zabra/protocol'
import {
  applyCreate,
  decodeCreate,
  prepareCreate,
  writePathAndStat,
  type CreateArguments,
} from './creating.ts'
import type { WriteOperation } from './operation.ts'

export const createContainer: WriteOperation<'createContainer', CreateArguments> = {
  decode: decodeCreate,
  prepare: (request, p) => prepareCreate(codes.createContainer, request, p),
  apply: applyCreate,
  result: writePathAndStat,
}
