import {
  codes,
  errorCodes,
  pathProblem,
  permissions,
  type CheckVersionRequest,
  type TypeOf,
} from '@zabra/protocol'
import type { WriteOperation } from './operation.ts'
import { isVersionWrong, mayDo } from './preparation.ts'

/** Makes a multi depend on a version. It is not allowed outside a multi. */
export const check: WriteOperation<'check', TypeOf<typeof CheckVersionRequest>> = {
  prepare({ path, version }, p) {
    if (pathProblem(path) !== undefined) return errorCodes.badArguments
    const node = p.projection.load(path)
    if (node === undefined) return errorCodes.noNode
    if (!mayDo(p, node.acl, permissions.read)) return errorCodes.noAuth
    if (isVersionWrong(version, node.version)) return errorCodes.badVersion
    return { type: codes.check, body: { path, version: (node.version + 1) | 0 } }
  },

  apply: () => errorCodes.ok,
}
