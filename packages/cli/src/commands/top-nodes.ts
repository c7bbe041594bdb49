import { defineCommand } from '../framework/command.ts'
import { cleanPath } from '../node/paths.ts'
import { subtrees, type Subtree } from '../node/subtrees.ts'
import { sizeText } from '../output/units.ts'

const measures = {
  size: (one: Subtree) => one.ownBytes,
  children: (one: Subtree) => one.numChildren,
  subtree: (one: Subtree) => one.bytes,
  nodes: (one: Subtree) => one.nodes,
  version: (one: Subtree) => one.version,
} as const

const orders = ['size', 'children', 'subtree', 'nodes', 'version'] as const

export const command = defineCommand({
  arguments: { path: { kind: 'path', optional: true, help: '/ by default' } },
  options: {
    by: {
      type: 'text',
      choices: orders,
      help: 'data size (the default), number of children, size or number of nodes of the subtree, or version: how often the data was set',
    },
    limit: {
      type: 'integer',
      min: 1,
      short: 'n',
      value: 'N',
      help: 'number of nodes; 10 by default',
    },
  },
  examples: [
    ['zabra top-nodes', 'the ten nodes with the most data'],
    ['zabra top-nodes --by children', 'nodes with the most children'],
    ['zabra top-nodes --by version', 'nodes with the most writes'],
  ],
  async run({ args, options, out, signal, connect }) {
    const top = cleanPath(args.path ?? '/')
    const by = options.by ?? 'size'
    const client = await connect()
    const progress = out.progress('reading')
    const found = await subtrees(client, top, signal, () => progress.add())
    progress.end()
    const measure = measures[by]
    const first = found.toSorted((a, b) => measure(b) - measure(a)).slice(0, options.limit ?? 10)
    if (out.json)
      return out.data({
        path: top,
        by,
        nodes: first.map(({ path, ownBytes, numChildren, bytes, nodes, version }) => ({
          path,
          dataLength: ownBytes,
          numChildren,
          subtreeBytes: bytes,
          subtreeNodes: nodes,
          version,
        })),
      })
    out.table(
      ['SIZE', 'CHILDREN', 'SUBTREE', 'NODES', 'VERSION', 'PATH'],
      first.map(({ path, ownBytes, numChildren, bytes, nodes, version }) => [
        sizeText(ownBytes),
        numChildren,
        sizeText(bytes),
        nodes,
        version,
        path,
      ]),
    )
  },
})
