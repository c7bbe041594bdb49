import { noData } from '@zabra/client'
import { defineCommand } from '../framework/command.ts'
import { cleanPath } from '../node/paths.ts'
import { dataJson } from '../node/data.ts'
import { showData } from '../node/show-data.ts'
import { statJson, statLines } from '../node/stat.ts'
import { nextChange } from '../node/next-change.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path' } },
  options: {
    stat: { type: 'flag', short: 's', help: 'also print the stat of the node' },
    watch: { type: 'flag', short: 'w', help: 'then wait for the next change and print it' },
    raw: { type: 'flag', help: 'print the bytes unchanged, without a line feed at the end' },
  },
  details: `On a terminal, JSON is indented and colored, and binary data is shown as a hex dump. Otherwise the data is printed
unchanged, followed by a line feed unless --raw is given.`,
  examples: [
    ['zabra get /config', 'the data of /config'],
    ['zabra get --raw /image > image.png', 'the bytes unchanged'],
    ['zabra get /config --json | jq .stat.version', 'data and stat as JSON'],
  ],
  async run({ args, options, out, signal, connect }) {
    const path = cleanPath(args.path)
    const client = await connect({ isLasting: options.watch === true })
    const change = options.watch === true ? nextChange(signal) : undefined
    const { data, stat } = await client.get(path, { watch: change?.watch })
    if (out.json) {
      await out.data({ path, ...dataJson(data === noData ? null : data), stat: statJson(stat) })
    } else if (options.raw === true) {
      out.write(data)
    } else {
      await showData(data, out)
      if (options.stat === true) for (const line of statLines(stat)) out.line(line)
    }
    if (change === undefined) return
    const { type, path: changed } = await change.happened
    if (out.json) out.dataLine({ change: type, path: changed })
    else out.line(`${type} ${changed}`)
  },
})
