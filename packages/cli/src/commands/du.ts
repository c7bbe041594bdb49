import { defineCommand } from '../framework/command.ts'
import { cleanPath } from '../node/paths.ts'
import { subtrees } from '../node/subtrees.ts'
import { sizeText } from '../output/units.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path', optional: true, help: '/ by default' } },
  options: {
    depth: {
      type: 'integer',
      short: 'd',
      value: 'N',
      help: 'number of levels to show; 1 by default',
    },
    bytes: { type: 'flag', short: 'b', help: 'sizes in bytes' },
  },
  details: 'Sums up the data of a node and its subtree, without paths and bookkeeping.',
  examples: [
    ['zabra du /', 'the size of each child of the root'],
    ['zabra du /brokers --depth 3 --bytes', 'three levels, in bytes'],
  ],
  async run({ args, options, out, signal, connect }) {
    const top = cleanPath(args.path ?? '/')
    const depth = options.depth ?? 1
    const client = await connect()
    const progress = out.progress('reading')
    const found = await subtrees(client, top, signal, () => progress.add())
    progress.end()
    const shown = found.filter((one) => one.depth <= depth)
    if (out.json) {
      return out.data({
        path: top,
        subtrees: shown.map(({ path, bytes, nodes }) => ({ path, bytes, nodes })),
      })
    }
    const size = options.bytes === true ? (bytes: number) => bytes : sizeText
    out.table(
      ['SIZE', 'NODES', 'PATH'],
      shown
        .toSorted((a, b) => a.bytes - b.bytes || a.nodes - b.nodes)
        .map(({ path, bytes, nodes }) => [size(bytes), nodes, path]),
    )
  },
})
