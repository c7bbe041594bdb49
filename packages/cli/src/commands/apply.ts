import { defineCommand } from '../framework/command.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { parentOf } from '../node/paths.ts'
import { counted } from '../output/units.ts'
import { applyDifferences } from '../trees/apply.ts'
import { makePlan } from '../trees/plan.ts'
import { showDifferences, sums, sumsText } from '../trees/show.ts'

export const command = defineCommand({
  arguments: {
    file: { kind: 'file', help: 'a tree in YAML or JSON lines; - is stdin' },
    path: { kind: 'path', optional: true, help: 'target instead of the one in the file' },
  },
  options: {
    prune: {
      type: 'flag',
      help: 'delete nodes that are not in the file, unless live sessions have ephemeral nodes below them',
    },
    yes: { type: 'flag', short: 'y', help: 'do not ask' },
  },
  details: `Makes an ensemble match a file: shows the plan, asks, and changes nodes in transactions, each node only if it has
not changed since the plan was made. Up to 2000 changes or 700 KB form one transaction, which happens as a whole or
not at all. ACLs of existing nodes are changed afterwards, one by one, because ZooKeeper has no transactions for
them. A second apply finds nothing to do.`,
  examples: [
    ['zabra apply app.yaml', 'shows the plan and asks'],
    ['zabra apply app.yaml --prune --yes', 'for a pipeline'],
  ],
  async run(invocation) {
    const { args, options, out, signal, connect, confirm } = invocation
    const prune = options.prune === true
    const { top, differences, kept } = await makePlan(invocation, args.file, args.path, prune)
    const counts = sums(differences)
    if (differences.length === 0) {
      if (out.json)
        await out.data({ path: top, created: 0, changed: 0, deleted: 0, transactions: 0 })
      else out.note('no changes')
      return
    }
    if (!out.json) showDifferences(out, differences, top, true)
    if (options.yes !== true && !(await confirm(`${sumsText(counts)}. Apply?`, '--yes'))) {
      out.note('nothing was changed')
      return exitCodes.no
    }
    const client = await connect()
    if (top !== '/') await client.ensure(parentOf(top))
    const progress = out.progress('applying', differences.length)
    const done = await applyDifferences(client, top, differences, {
      signal,
      prune,
      onDone: (count) => progress.add(count),
    })
    progress.end()
    const { created, changed, deleted, transactions } = done
    if (out.json) return out.data({ path: top, created, changed, deleted, transactions })
    out.note(
      `created ${counted(created, 'node')}, changed ${changed}, deleted ${deleted} (${counted(transactions, 'transaction')})`,
    )
    if (kept.length > 0)
      out.note(`${counted(kept.length, 'node')} not in the file; --prune deletes them`)
  },
})
