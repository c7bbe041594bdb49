import { defineCommand } from '../framework/command.ts'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { cleanPath, parentOf } from '../node/paths.ts'
import { statJson, statLines } from '../node/stat.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path' } },
  examples: [
    ['zabra stat /app', 'versions, times, owner and sizes of /app'],
    ['zabra stat /app --json | jq .numChildren', 'one field'],
  ],
  async run({ args, out, connect }) {
    const path = cleanPath(args.path)
    const client = await connect()
    const stat = await client.exists(path)
    if (stat === undefined)
      throw new CommandError(`${path} does not exist`, {
        code: 'noNode',
        exitCode: exitCodes.notFound,
        hint: `\`zabra ls ${parentOf(path)}\` lists its siblings`,
      })
    if (out.json) await out.data({ path, stat: statJson(stat) })
    else for (const line of statLines(stat)) out.line(line)
  },
})
