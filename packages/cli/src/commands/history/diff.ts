import type { DifferenceJson } from '@zabra/protocol'
import { defineCommand } from '../../framework/command.ts'
import { exitCodes } from '../../framework/exit-codes.ts'
import { sourceOptions } from '../../history/options.ts'
import { openSource } from '../../history/source.ts'
import { cleanPath } from '../../node/paths.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'path', help: 'the node and all below it' },
    from: { kind: 'text', help: 'after this zxid (0x...), or at this time' },
    to: { kind: 'text', help: 'the later zxid or time' },
  },
  options: { data: { type: 'flag', help: 'with the data before and after' }, ...sourceOptions },
  details: `Lists nodes that were created (+), deleted (-) or changed (~) between two moments. Exit code 1: there are differences.`,
  examples: [
    ['zabra history diff /app 2026-01-31T08:00Z 2026-01-31T09:00Z', 'what an hour changed'],
    ['zabra history diff / 0x100000001 0x1000000ff --data', 'with the data'],
  ],
  async run({ args, options, out, settings, signal }) {
    const source = await openSource(options, settings, signal)
    let count = 0
    const path = cleanPath(args.path)
    for await (const each of source.diff(path, args.from, args.to, options.data === true)) {
      count++
      if (out.json) out.dataLine(each)
      else show(each)
    }
    return count === 0 ? exitCodes.ok : exitCodes.no

    function show({ path: at, before, after, isAclChanged, isRecreated }: DifferenceJson): void {
      const { style } = out
      if (before === null) out.line(style.green(`+ ${at}`))
      else if (after === null) out.line(style.red(`- ${at}`))
      else {
        const notes = [...(isAclChanged ? ['ACL'] : []), ...(isRecreated ? ['created again'] : [])]
        out.line(`~ ${at}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`)
      }
      if (before?.data !== undefined) out.line(`    before ${JSON.stringify(before.data)}`)
      if (after?.data !== undefined) out.line(`    after  ${JSON.stringify(after.data)}`)
    }
  },
})
