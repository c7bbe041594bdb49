/** A server's tree is what the model makes of its log: at every start, and at the end. */
import { show } from '../client/request.ts'
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
      const found = show({ data, acl, stat })
      if (node === undefined) {
        report(`${name} has ${path} at zxid ${zxid}, which should not be there: ${found}`)
        continue
      }
      const due = show({
        data: node.data,
        acl: node.acl.map(aclText).join(),
        stat: statOf(node),
      })
      if (due !== found) report(`${name} has ${path} at ${zxid} as ${found}, it should be ${due}`)
    }
    for (const path of model.keys()) {
      if (path !== '/' && !actual.has(path)) report(`${name} lacks ${path} at zxid ${zxid}`)
    }
  }
}
