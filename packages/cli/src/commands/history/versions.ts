import { defineCommand } from '../../framework/command.ts'
import { exitCodes } from '../../framework/exit-codes.ts'
import { sourceOptions } from '../../history/options.ts'
import { showChange } from '../../history/show-change.ts'
import { openSource } from '../../history/source.ts'
import { cleanPath } from '../../node/paths.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path', help: 'the node' } },
  options: {
    limit: { type: 'integer', min: 1, short: 'n', help: 'show at most this many (20)' },
    data: { type: 'flag', help: 'with the data of each' },
    ...sourceOptions,
  },
  details: `Lists when a node was created, changed and deleted, the newest first. Exit code 1: nothing is known of it.`,
  examples: [
    ['zabra history versions /app/config --data', 'every version that is kept'],
    ['zabra history versions /app/config -n 1', 'the last change'],
  ],
  async run({ args, options, out, settings, signal }) {
    const source = await openSource(options, settings, signal)
    let count = 0
    for await (const change of source.changes({
      path: cleanPath(args.path),
      isExact: true,
      wantsData: options.data,
      limit: options.limit ?? 20,
    })) {
      count++
      showChange(change, out)
    }
    return count === 0 ? exitCodes.no : exitCodes.ok
  },
})
