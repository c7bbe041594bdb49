import { defineCommand } from '../framework/command.ts'
import { cleanPath, nameOf } from '../node/paths.ts'
import { isEphemeral } from '../node/stat.ts'
import { walk } from '../node/walk.ts'
import { counted, sizeText } from '../output/units.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path', optional: true, help: '/ by default' } },
  options: {
    depth: {
      type: 'integer',
      short: 'd',
      value: 'N',
      help: 'maximum number of levels; 1 shows the children',
    },
    children: { type: 'integer', value: 'N', help: 'maximum number of children of a node' },
    sizes: { type: 'flag', short: 's', help: 'show the data size of each node' },
  },
  details: `Ephemeral nodes are marked. With --children a node with more children than that shows the first ones, and how many
it has.`,
  examples: [
    ['zabra tree /', 'everything'],
    ['zabra tree / --children 10', 'an overview of a tree with many nodes'],
    ['zabra tree /brokers --depth 2 --sizes', 'two levels, with sizes'],
  ],
  async run({ args, options, out, signal, connect }) {
    const top = cleanPath(args.path ?? '/')
    const childrenMax = options.children ?? Infinity
    const client = await connect()
    const progress = out.progress('reading')
    const { style } = out
    const [branch, corner, bar] = out.isTerminal
      ? ['├── ', '└── ', '│   ']
      : ['|-- ', '`-- ', '|   ']
    /** For each level above: how many siblings are still to come. */
    const left: number[] = []
    const nodes: {
      path: string
      isEphemeral: boolean | null
      dataLength: number | null
      numChildren: number
    }[] = []
    let count = 0
    for await (const node of walk(client, top, {
      signal,
      depthMax: options.depth,
      childrenMax,
    })) {
      progress.add()
      await out.drained()
      count++
      const { path, depth, stat, children } = node
      const followed = depth === options.depth ? 0 : Math.min(children.length, childrenMax)
      if (out.json) {
        nodes.push({
          path,
          isEphemeral: stat === undefined ? null : isEphemeral(stat),
          dataLength: stat?.dataLength ?? null,
          numChildren: children.length,
        })
        continue
      }
      left.length = depth
      let indent = ''
      for (let level = 0; level < depth - 1; level++) indent += left[level]! > 0 ? bar : '    '
      if (depth > 0) {
        left[depth - 1] = left[depth - 1]! - 1
        indent += left[depth - 1]! > 0 ? branch : corner
      }
      left.push(followed)
      const mark = stat !== undefined && isEphemeral(stat) ? '  (ephemeral)' : ''
      const size =
        options.sizes === true && stat !== undefined ? `  ${sizeText(stat.dataLength)}` : ''
      const closed = node.isHidden ? '  (not allowed)' : ''
      const cut =
        followed < children.length
          ? `  (${counted(children.length, 'child').replace('childs', 'children')}${followed > 0 ? `, the first ${followed} shown` : ''})`
          : ''
      const name = depth === 0 ? path : nameOf(path)
      out.line(
        indent +
          (children.length > 0 ? style.blue(name) : name) +
          style.dim(size) +
          style.yellow(mark) +
          style.dim(cut + closed),
      )
    }
    progress.end()
    if (out.json) await out.data({ path: top, nodes })
    else out.note(counted(count, 'node'))
  },
})
