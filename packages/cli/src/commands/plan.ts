import { defineCommand } from '../framework/command.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { counted } from '../output/units.ts'
import { makePlan } from '../trees/plan.ts'
import { differenceJson, showDifferences, sums, sumsText } from '../trees/show.ts'

export const command = defineCommand({
  arguments: {
    file: { kind: 'file', help: 'a tree in YAML or JSON lines; - is stdin' },
    path: { kind: 'path', optional: true, help: 'target instead of the one in the file' },
  },
  options: {
    prune: {
      type: 'flag',
      help: 'also delete nodes that are not in the file, unless live sessions have ephemeral nodes below them',
    },
    short: { type: 'flag', help: 'show only paths, without the differences' },
  },
  details: `Shows what \`zabra apply\` would change, and changes nothing. Manual changes since the last apply show up here:
lines with - are in the ensemble, lines with + in the file. What the file does not specify (data, ACL or kind of a
node) stays as it is. Exit code 1 means that there are changes.`,
  examples: [
    ['zabra plan app.yaml', 'differences between ensemble and file'],
    ['zabra plan app.yaml --prune --json', 'for a check in CI'],
  ],
  async run(invocation) {
    const { args, options, out } = invocation
    const { top, differences, kept } = await makePlan(
      invocation,
      args.file,
      args.path,
      options.prune === true,
    )
    const counts = sums(differences)
    if (out.json) {
      const changes = differences.map((one) => differenceJson(one, top))
      await out.data({
        path: top,
        changes,
        kept: kept.map((one) => differenceJson(one, top).path),
        ...counts,
      })
    } else {
      showDifferences(out, differences, top, options.short !== true)
      out.note(differences.length === 0 ? 'no changes' : sumsText(counts))
      if (kept.length > 0)
        out.note(`${counted(kept.length, 'node')} not in the file; --prune deletes them`)
    }
    return differences.length === 0 ? exitCodes.ok : exitCodes.no
  },
})
