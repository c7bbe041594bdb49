import { defineCommand } from '../framework/command.ts'
import { CommandError, UsageError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { deleteSubtree } from '../node/delete-subtree.ts'
import { cleanPath } from '../node/paths.ts'
import { summarize } from '../node/summary.ts'
import { counted, sizeText } from '../output/units.ts'

/** Of a dry run: enough to recognize the subtree. */
const childrenShownMax = 20

export const command = defineCommand({
  arguments: { path: { kind: 'path' } },
  options: {
    dryRun: { type: 'flag', short: 'n', help: 'show what would be deleted, and delete nothing' },
    yes: { type: 'flag', short: 'y', help: 'do not ask' },
  },
  details: `First shows how many nodes would be deleted, and which of them belong to live sessions. On a terminal it then asks;
otherwise it needs --yes. Deletes children before parents, in transactions. If it is interrupted, the nodes deleted
so far stay deleted.`,
  examples: [
    ['zabra deleteall /app/old', 'asks before anything is deleted'],
    ['zabra deleteall /app/old --dry-run', 'only shows what would be deleted'],
    ['zabra deleteall /app/old --yes', 'for scripts'],
  ],
  async run({ args, options, out, signal, connect, confirm }) {
    const path = cleanPath(args.path)
    if (path === '/') throw new UsageError('the root cannot be deleted', 'name a node below it')
    const client = await connect()
    const reading = out.progress('reading')
    const summary = await summarize(client, path, signal, () => reading.add())
    reading.end()
    const { nodes, bytes, ephemerals, sessions, hidden } = summary
    const impact = `${counted(nodes, 'node')}, ${sizeText(bytes)}`
    const live =
      ephemerals === 0
        ? ''
        : `, of which ${ephemerals} ephemeral of ${counted(sessions, 'live session')}`
    if (hidden.length > 0)
      throw new CommandError(`${hidden[0]} may not be listed, so nothing was deleted`, {
        code: 'noAuth',
        exitCode: exitCodes.notAllowed,
        hint: '--auth digest:USER:PASSWORD presents an identity',
      })
    if (options.dryRun === true) {
      if (out.json) return out.data({ path, nodes, bytes, ephemerals, sessions, deleted: 0 })
      out.line(`${path}: would delete ${impact}${live}`)
      const children = [...summary.children]
      const shown = children.slice(0, childrenShownMax)
      for (const [child, count] of shown) out.line(`  ${child}  ${counted(count, 'node')}`)
      if (children.length > shown.length)
        out.line(`  and ${children.length - shown.length} more children`)
      return
    }
    if (
      options.yes !== true &&
      !(await confirm(`Delete ${path} with everything below it (${impact}${live})?`, '--yes'))
    ) {
      out.note('nothing was deleted')
      return exitCodes.no
    }
    const deleting = out.progress('deleting', nodes)
    const left = await deleteSubtree(client, path, {
      signal,
      onDeleted: (count) => deleting.add(count),
    })
    deleting.end()
    if (left > 0)
      throw new CommandError(
        `${counted(left, 'node')} could not be deleted; others may be writing below ${path}`,
        { hint: 'run it again' },
      )
    if (out.json) await out.data({ path, nodes, bytes, ephemerals, sessions, deleted: nodes })
    else out.note(`deleted ${impact}`)
  },
})
