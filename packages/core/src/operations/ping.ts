import { errorCodes } from '@zabra/protocol'
import type { ReadOperation } from './operation.ts'

export const ping: ReadOperation = {
  answer: () => errorCodes.ok,
}
