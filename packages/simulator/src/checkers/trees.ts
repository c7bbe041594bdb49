/**
 * Checks that the tree of a server is what the model makes of its log, at every start and at the
 * end.
 */
import { isSameStat, show } from '../client/request.ts'
import { aclText } from '../client/wire.ts'
import type { TreeDump } from '../history/tree-dump.ts'
import { statOf } from '../model/state.ts'
import type { Report } from './report.ts'
import type { Timeline } from './timeline.ts'

export interface SeenTree {
  readonly name: string
  readonly zxid: bigint
  readonly tree: TreeDump
}

export function checkTrees(seen: readonly SeenTree[], timeline: Timeline, report: Report): void {
  for (const { name, zxid, tree: actual } of seen) {
    const place = timeline.placeOf(zxid)
    const model = place === undefined ? undefined : timeline.moments[place]?.tree
    if (model === undefined) {
      report(`${name} is at zxid ${zxid}, which no log has`)
      continue
    }
    for (const [path, { data, acl, stat }] of actual) {
      const node = model.get(path)
      const found = { data, acl, stat }
      if (node === undefined) {
        report(`${name} has ${path} at zxid ${zxid}, which should not be there: ${show(found)}`)
        continue
      }
      const due = { data: node.data, acl: node.acl.map(aclText).join(), stat: statOf(node) }
      if (found.data === due.data && found.acl === due.acl && isSameStat(found.stat, due.stat)) {
        continue
      }
      report(`${name} has ${path} at ${zxid} as ${show(found)}, it should be ${show(due)}`)
    }
    for (const [path] of model) {
      if (path !== '/' && !actual.has(path)) report(`${name} lacks ${path} at zxid ${zxid}`)
    }
  }
}
