import { anyVersion, type Acl } from '@zabra/protocol'
import * as kinds from './calls/kinds.ts'
import { Call } from './machine/call.ts'
import type { Paths } from './paths.ts'
import type { TreePort } from './whole-trees.ts'

/** Sends a call, under limits that are known where it is made. */
export type Issue = <Request, Result>(call: Call<Request, Result>) => Promise<Result>

/** The nodes that are created. */
export interface Made {
  readonly container?: boolean | undefined
  readonly acl: readonly Acl[]
}

const empty = new Uint8Array(0)
const containerFlags = 4

/**
 * The requests of work on a whole tree. Paths are the server's, because the chroot itself may have
 * to be created; errors have those of the caller.
 */
export function treePortOf(
  issue: Issue,
  paths: Paths,
  { container = false, acl }: Made,
  onWrite: () => void = () => {},
): TreePort {
  const named = (path: string): string => paths.fromServer(path) ?? path
  return {
    exists: (path) =>
      issue(new Call(kinds.exists, { path, watch: false }, named(path))).then(
        (stat) => stat !== undefined,
      ),
    create: (path) => {
      const kind = container ? kinds.createContainer : kinds.create
      const flags = container ? containerFlags : 0
      const call = new Call(kind, { path, data: empty, acl, flags }, named(path))
      call.context = paths.fromServer
      onWrite()
      return issue(call)
    },
    children: (path) => issue(new Call(kinds.getChildren, { path, watch: false }, named(path))),
    delete: (path) => {
      onWrite()
      return issue(new Call(kinds.remove, { path, version: anyVersion }, named(path)))
    },
  }
}
