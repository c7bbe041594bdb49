import { defineCommand } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'
import { cleanPath } from '../node/paths.ts'

export const command = defineCommand({
  arguments: { paths: { kind: 'path', many: true } },
  options: {
    ifVersion: {
      type: 'integer',
      short: 'v',
      value: 'N',
      help: 'only if the node has this version',
    },
  },
  details: 'Deletes several nodes in one transaction: all of them or none.',
  examples: [
    ['zabra delete /app/old', 'a node without children'],
    ['zabra delete /app/old --if-version 3', 'fails if another client has changed it'],
  ],
  async run({ args, options, out, connect }) {
    const paths = args.paths.map(cleanPath)
    const [path] = paths
    const { ifVersion } = options
    if (paths.length > 1 && ifVersion !== undefined)
      throw new UsageError('--if-version is for one node')
    const client = await connect()
    if (paths.length === 1) await client.delete(path!, { ifVersion })
    else {
      const transaction = client.transaction()
      for (const one of paths) transaction.delete(one)
      await transaction.commit()
    }
    if (out.json) await out.data({ deleted: paths })
  },
})
