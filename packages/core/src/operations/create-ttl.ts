import { codes, CreateTtlRequest } from '@zabra/protocol'
import { applyCreate, prepareCreate, writePathAndStat, type CreateArguments } from './creating.ts'
import type { WriteOperation } from './operation.ts'

export const createTtl: WriteOperation<'createTTL', CreateArguments> = {
  decode: (body) => CreateTtlRequest.read(body),
  prepare: (request, p) => prepareCreate(codes.createTTL, request, p),
  apply: applyCreate,
  result: writePathAndStat,
}
