import { defineCommand } from '../framework/command.ts'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { cleanPath, parentOf } from '../node/paths.ts'
import { counted } from '../output/units.ts'
import { applyDifferences, raiseCounters } from '../trees/apply.ts'
import { compareTrees, type Difference } from '../trees/compare.ts'
import { readTreeFile } from '../trees/read-file.ts'
import { pathBelow, readTree } from '../trees/tree.ts'

export const command = defineCommand({
  arguments: {
    file: { kind: 'file', help: 'JSON lines or YAML, from `zabra export`; - is stdin' },
    path: {
      kind: 'path',
      optional: true,
      help: 'target of the nodes; their original place by default',
    },
  },
  options: {
    existing: {
      type: 'text',
      value: 'WHAT',
      choices: ['fail', 'skip', 'overwrite'],
      help: 'what to do with existing nodes that differ: fail (the default), skip or overwrite',
    },
    dryRun: { type: 'flag', short: 'n', help: 'show what would be done, and do nothing' },
    skipCounters: { type: 'flag', help: 'start the numbering of sequential children at 0' },
  },
  details: `Creates the nodes of a file, in transactions, with their data, ACLs, kinds and TTLs. If a node had sequential
children, their numbering continues; for that, children are created and deleted until the counter is right. Skips
ephemeral nodes. Keeps nodes that exist and are not in the file. If an ACL forbids creating children below a new
node, present an identity that may (--auth).`,
  examples: [
    ['zabra import app.jsonl', 'into its original place'],
    ['zabra import app.yaml /copy --dry-run', 'what would be created below /copy'],
  ],
  async run({ args, options, out, io, signal, connect }) {
    const { head, tree } = await readTreeFile(args.file, io)
    const top = cleanPath(args.path ?? head.top)
    const client = await connect()
    const progress = out.progress('reading')
    const found = await readTree(client, top, {
      signal,
      mayBeAbsent: true,
      onNode: () => progress.add(),
    })
    progress.end()
    const ephemerals = [...tree.values()].filter(({ kind }) => kind === 'ephemeral').length
    const existing = options.existing ?? 'fail'
    const all = compareTrees(tree, found).filter(({ type }) => type !== 'extra')
    const different = all.filter(({ type }) => type === 'different')
    const differences: Difference[] =
      existing === 'skip' ? all.filter(({ type }) => type === 'missing') : all
    if (existing === 'fail' && different.length > 0)
      throw new CommandError(
        `${counted(different.length, 'node')} exist and are different, as ${pathBelow(top, different[0]!.path)}`,
        {
          code: 'nodeExists',
          exitCode: exitCodes.conflict,
          hint: '--existing skip or --existing overwrite; nothing was changed',
        },
      )
    if (options.dryRun === true) {
      const { differenceJson, showDifferences, sums, sumsText } = await import('../trees/show.ts')
      if (out.json)
        return out.data({
          path: top,
          changes: differences.map((one) => differenceJson(one, top)),
          ...sums(differences),
        })
      showDifferences(out, differences, top, false)
      return out.note(sumsText(sums(differences)))
    }
    if (top !== '/') await client.ensure(parentOf(top))
    const applying = out.progress('importing', differences.length)
    const { created, changed } = await applyDifferences(client, top, differences, {
      signal,
      prune: false,
      onDone: (count) => applying.add(count),
    })
    applying.end()
    if (options.skipCounters !== true) {
      const counting = out.progress('raising counters')
      await raiseCounters(client, top, tree.values(), {
        signal,
        onDone: (count) => counting.add(count),
      })
      counting.end()
    }
    if (out.json) return out.data({ path: top, created, changed, skippedEphemerals: ephemerals })
    out.note(`created ${counted(created, 'node')}, changed ${changed}`)
    if (ephemerals > 0) out.note(`left out ${counted(ephemerals, 'ephemeral node')}`)
  },
})
