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
    sizes: { type: 'flag', short: 's', help: 'show the data size of each node' },
  },
  details: 'Ephemeral nodes are marked with e.',
  examples: [
    ['zabra tree /', 'everything'],
    ['zabra tree /brokers --depth 2 --sizes', 'two levels, with sizes'],
  ],
  async run({ args, options, out, signal, connect }) {
    const top = cleanPath(args.path ?? '/')
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
    for await (const node of walk(client, top, { signal, depthMax: options.depth })) {
      progress.add()
      count++
      const { path, depth, stat, children } = node
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
      left.push(children.length)
      const mark = stat !== undefined && isEphemeral(stat) ? ' e' : ''
      const size =
        options.sizes === true && stat !== undefined ? `  ${sizeText(stat.dataLength)}` : ''
      const closed = node.isHidden ? '  (not allowed)' : ''
      const cut =
        depth === options.depth && children.length > 0
          ? `  (${counted(children.length, 'child').replace('childs', 'children')})`
          : ''
      const name = depth === 0 ? path : nameOf(path)
      out.line(
        indent +
          (children.length > 0 ? style.blue(name) : name) +
          style.yellow(mark) +
          style.dim(size + cut + closed),
      )
    }
    progress.end()
    if (out.json) await out.data({ path: top, nodes })
    else out.note(counted(count, 'node'))
  },
})
