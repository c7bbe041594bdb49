import { defineCommand } from '../framework/command.ts'
import { CommandError, UsageError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { isWithin, parentOf } from '../node/paths.ts'
import { counted } from '../output/units.ts'
import { applyDifferences } from '../trees/apply.ts'
import { compareTrees } from '../trees/compare.ts'
import { openLiveLocation, openLocation, treeAt } from '../trees/location.ts'
import { pathBelow } from '../trees/tree.ts'

export const command = defineCommand({
  arguments: {
    from: {
      kind: 'path',
      help: '/path, CONTEXT:/path, zk://HOSTS/path, or a file from `zabra export`',
    },
    to: { kind: 'path', help: '/path, CONTEXT:/path or zk://HOSTS/path' },
  },
  options: {
    recursive: { type: 'flag', short: 'R', help: 'with everything below' },
    force: { type: 'flag', short: 'f', help: 'overwrite nodes that exist' },
    parents: { type: 'flag', short: 'p', help: 'create missing parents' },
  },
  details: `Copies data, ACLs, kinds and TTLs. Skips ephemeral nodes. Keeps nodes below the target that the source does not
have; \`zabra mirror --delete\` deletes them.`,
  examples: [
    ['zabra cp /config /config-backup', 'one node'],
    ['zabra cp -R prod:/app staging:/app', 'a subtree, from one ensemble to another'],
  ],
  async run(invocation) {
    const { args, options, out, signal } = invocation
    const from = await openLocation(args.from, invocation)
    const to = await openLiveLocation(args.to, invocation)
    try {
      const { client, top } = to
      if (
        from.type === 'live' &&
        from.isOwn &&
        to.isOwn &&
        options.recursive === true &&
        isWithin(top, from.top)
      )
        throw new UsageError(`${top} is inside ${from.top}`, 'a node cannot be copied into itself')
      const progress = out.progress('reading')
      const onNode = (): void => progress.add()
      const whole = await treeAt(from, invocation, { onNode })
      const source =
        options.recursive === true ? whole : new Map([...whole].filter(([path]) => path === '/'))
      const found = await treeAt(to, invocation, { onNode, mayBeAbsent: true })
      progress.end()
      const differences = compareTrees(source, found).filter(({ type }) => type !== 'extra')
      const different = differences.find(({ type }) => type === 'different')
      if (different !== undefined && options.force !== true)
        throw new CommandError(`${pathBelow(top, different.path)} exists already`, {
          code: 'nodeExists',
          exitCode: exitCodes.conflict,
          hint: '--force overwrites it; nothing was changed',
        })
      if (options.parents === true && top !== '/') await client.ensure(parentOf(top))
      const copying = out.progress('copying', differences.length)
      const { created, changed } = await applyDifferences(client, top, differences, {
        signal,
        prune: false,
        onDone: (count) => copying.add(count),
      })
      copying.end()
      if (out.json) await out.data({ from: from.label, to: to.label, created, changed })
      else out.note(`created ${counted(created, 'node')}, changed ${changed}`)
    } finally {
      await from.close()
      await to.close()
    }
  },
})
