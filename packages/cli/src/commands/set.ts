import { isRefusal, noData } from '@zabra/client'
import { defineCommand } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'
import { givenData } from '../node/input.ts'
import { cleanPath } from '../node/paths.ts'
import { statJson } from '../node/stat.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'path' },
    data: { kind: 'text', optional: true, help: '- reads stdin' },
  },
  options: {
    file: { type: 'text', short: 'f', value: 'FILE', kind: 'file', help: 'data from a file' },
    ifVersion: {
      type: 'integer',
      short: 'v',
      value: 'N',
      help: 'only if the node has this version',
    },
    create: { type: 'flag', help: 'create the node and its parents if it does not exist' },
    none: {
      type: 'flag',
      help: 'set no data at all, which ZooKeeper distinguishes from empty data',
    },
  },
  examples: [
    ['zabra set /config \'{"debug":true}\'', 'change the data of /config'],
    [
      'zabra set /config --file config.json --if-version 7',
      'fails if another client has changed it',
    ],
    ['date | zabra set /started - --create', 'data from a pipe'],
  ],
  async run({ args, options, out, io, connect }) {
    const path = cleanPath(args.path)
    const given = await givenData(args.data, options.file, io)
    if (given !== undefined && options.none === true)
      throw new UsageError('data or --none, not both')
    const data = options.none === true ? noData : given
    if (data === undefined)
      throw new UsageError('DATA is missing', 'as an argument, - for stdin, --file FILE, or --none')
    const client = await connect()
    try {
      const stat = await client.set(path, data, { ifVersion: options.ifVersion })
      if (out.json) await out.data({ path, stat: statJson(stat) })
    } catch (error) {
      if (options.create !== true || !isRefusal(error, 'noNode')) throw error
      const { stat } = await client.create(path, data, { parents: true })
      if (out.json) await out.data({ path, stat: statJson(stat) })
    }
  },
})
