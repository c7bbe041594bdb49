import { errorCodes, pathProblem, permissions } from '@zabra/protocol'
import { isVersionWrong, mayDo, type Preparation, type Prepared } from './preparation.ts'

/** Only inside a multi, where it makes the whole depend on a version. */
export function prepareCheck(
  { path, version }: { path: string; version: number },
  p: Preparation,
): Prepared {
  if (pathProblem(path) !== undefined) return errorCodes.badArguments
  const node = p.projection.load(path)
  if (node === undefined) return errorCodes.noNode
  if (!mayDo(p, node.acl, permissions.read)) return errorCodes.noAuth
  if (isVersionWrong(version, node.version)) return errorCodes.badVersion
  return { type: 13, body: { path, version: (node.version + 1) | 0 } }
}
