import { defineCommand } from '../../framework/command.ts'
import { sourceOptions } from '../../history/options.ts'
import { openSource } from '../../history/source.ts'
import { cleanPath } from '../../node/paths.ts'
import { showData } from '../../node/show-data.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'path', help: 'the node' },
    point: { kind: 'text', help: 'after this zxid (0x...), or at this time' },
  },
  options: {
    stat: { type: 'flag', short: 's', help: 'the stat instead of the data' },
    tree: { type: 'flag', short: 'R', help: 'the node and all below it instead' },
    data: { type: 'flag', help: 'with --tree --json: with the data of each' },
    ...sourceOptions,
  },
  examples: [
    ['zabra history at /app/config 2026-01-31T08:00Z', 'its data at that time'],
    ['zabra history at /app 0x10000002a --tree', 'what was below /app after that transaction'],
  ],
  async run({ args, options, out, settings, signal }) {
    const source = await openSource(options, settings, signal)
    const path = cleanPath(args.path)
    const { point } = args
    if (options.tree === true) {
      for await (const node of source.subtree(path, point, options.data === true)) {
        await out.drained()
        if (out.json) out.dataLine(node)
        else {
          const kind = node.kind === 'persistent' ? '' : ` ${node.kind}`
          out.line(`${node.path}${kind} ${node.dataLength} bytes version ${node.version}`)
        }
      }
      return
    }
    if (options.stat !== true && !out.json) return showData(await source.data(path, point), out)
    const { zxid, node } = await source.node(path, point)
    if (out.json) return out.data({ at: zxid, ...node })
    for (const [name, value] of Object.entries(node)) {
      if (value !== null && typeof value !== 'object') out.line(`${name.padEnd(14)} ${value}`)
    }
  },
})
