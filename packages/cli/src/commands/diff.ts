import { defineCommand } from '../framework/command.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { compareTrees } from '../trees/compare.ts'
import { openLocation, treeAt } from '../trees/location.ts'
import { differenceJson, showDifferences, sums } from '../trees/show.ts'

export const command = defineCommand({
  arguments: {
    from: {
      kind: 'path',
      help: '/path, CONTEXT:/path, zk://HOSTS/path, or a file from `zabra export`',
    },
    to: { kind: 'path', help: 'the same' },
  },
  options: {
    data: { type: 'flag', short: 'd', help: 'show differences in data, line by line' },
    noAcl: { type: 'flag', help: 'ignore ACLs' },
    ephemerals: { type: 'flag', help: 'also compare ephemeral nodes' },
  },
  details: `Compares data, ACLs, kinds and TTLs of two trees. + means only in the second, - only in the first, ~ in both but
different. Exit code 1 means that there are differences.`,
  examples: [
    ['zabra diff /app /app-copy', 'two subtrees'],
    ['zabra diff staging:/app prod:/app --data', 'two ensembles, named by context'],
    ['zabra diff app.yaml /app', 'a file and the ensemble'],
  ],
  async run(invocation) {
    const { args, options, out } = invocation
    const from = await openLocation(args.from, invocation)
    try {
      const to = await openLocation(args.to, invocation)
      try {
        const progress = out.progress('reading')
        const onNode = (): void => progress.add()
        const [before, after] = [
          await treeAt(from, invocation, { onNode }),
          await treeAt(to, invocation, { onNode }),
        ]
        progress.end()
        const differences = compareTrees(after, before, {
          ephemerals: options.ephemerals,
          acl: options.noAcl !== true,
        })
        if (out.json)
          await out.data({
            from: from.label,
            to: to.label,
            differences: differences.map((one) => differenceJson(one, '/')),
            ...sums(differences),
          })
        else showDifferences(out, differences, '/', options.data === true)
        return differences.length === 0 ? exitCodes.ok : exitCodes.no
      } finally {
        await to.close()
      }
    } finally {
      await from.close()
    }
  },
})
