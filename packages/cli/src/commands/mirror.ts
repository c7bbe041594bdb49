import { defineCommand } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { isWithin, parentOf } from '../node/paths.ts'
import { counted } from '../output/units.ts'
import { applyDifferences } from '../trees/apply.ts'
import { compareTrees } from '../trees/compare.ts'
import { follow } from '../trees/follow.ts'
import { openLiveLocation, treeAt } from '../trees/location.ts'
import { differenceJson, showDifferences, sums, sumsText } from '../trees/show.ts'

export const command = defineCommand({
  arguments: {
    from: { kind: 'path', help: '/path, CONTEXT:/path or zk://HOSTS/path' },
    to: { kind: 'path', help: 'the same' },
  },
  options: {
    delete: { type: 'flag', help: 'delete nodes of the target that the source does not have' },
    follow: { type: 'flag', short: 'f', help: 'copy every change, until Ctrl-C' },
    dryRun: { type: 'flag', short: 'n', help: 'show what would be done, and do nothing' },
    yes: { type: 'flag', short: 'y', help: 'do not ask before nodes are deleted' },
  },
  details: `Makes the target equal to the source: data, ACLs, kinds and TTLs, without ephemeral nodes. With --follow it watches
the source. Watches do not report changes of ACLs alone; these are copied with the next other change of the node.`,
  examples: [
    ['zabra mirror prod:/app /app', 'a copy of a subtree of another ensemble'],
    ['zabra mirror prod:/app dr:/app --delete --follow --yes', 'a copy that stays up to date'],
  ],
  async run(invocation) {
    const { args, options, out, signal, confirm } = invocation
    const from = await openLiveLocation(args.from, invocation)
    const to = await openLiveLocation(args.to, invocation)
    try {
      if (from.isOwn && to.isOwn && (isWithin(to.top, from.top) || isWithin(from.top, to.top)))
        throw new UsageError(
          `${from.top} and ${to.top} overlap`,
          'one must not be inside the other',
        )
      const prune = options.delete === true
      const synchronize = async (isFirst: boolean): Promise<void | number> => {
        const progress = out.progress('reading')
        const onNode = (): void => progress.add()
        const source = await treeAt(from, invocation, { onNode })
        const found = await treeAt(to, invocation, { onNode, mayBeAbsent: true })
        progress.end()
        const differences = compareTrees(source, found, { keepsUsed: true }).filter(
          ({ type }) => prune || type !== 'extra',
        )
        const counts = sums(differences)
        if (options.dryRun === true) {
          if (out.json)
            await out.data({
              changes: differences.map((one) => differenceJson(one, to.top)),
              ...counts,
            })
          else showDifferences(out, differences, to.top, false)
          return differences.length === 0 ? exitCodes.ok : exitCodes.no
        }
        if (
          isFirst &&
          counts.delete > 0 &&
          options.yes !== true &&
          !(await confirm(`${sumsText(counts)}. Go on?`, '--yes'))
        ) {
          out.note('nothing was changed')
          return exitCodes.no
        }
        if (to.top !== '/') await to.client.ensure(parentOf(to.top))
        const copying = out.progress('copying', differences.length)
        const { created, changed, deleted } = await applyDifferences(
          to.client,
          to.top,
          differences,
          {
            signal,
            prune,
            onDone: (count) => copying.add(count),
          },
        )
        copying.end()
        const isQuiet = !isFirst && differences.length === 0
        if (out.json) out.dataLine({ from: from.label, to: to.label, created, changed, deleted })
        else if (!isQuiet)
          out.note(`created ${counted(created, 'node')}, changed ${changed}, deleted ${deleted}`)
      }
      if (options.follow !== true || options.dryRun === true) return await synchronize(true)
      let isFirst = true
      await follow(from.client, from.top, signal, async () => {
        const code = await synchronize(isFirst)
        isFirst = false
        return code === undefined
      })
    } finally {
      await from.close()
      await to.close()
    }
  },
})
