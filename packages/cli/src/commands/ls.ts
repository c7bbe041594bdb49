import { defineCommand } from '../framework/command.ts'
import { cleanPath } from '../node/paths.ts'
import { nextChange } from '../node/next-change.ts'
import { statJson, statLines } from '../node/stat.ts'
import { walk, type WalkedNode } from '../node/walk.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path', optional: true, help: '/ by default' } },
  options: {
    recursive: {
      type: 'flag',
      short: 'R',
      help: 'list the paths of the node and its whole subtree',
    },
    stat: { type: 'flag', short: 's', help: 'also print the stat of the node' },
    watch: {
      type: 'flag',
      short: 'w',
      help: 'then wait for the next change of the children and print it',
    },
  },
  examples: [
    ['zabra ls /', 'the children of the root, in order of their names'],
    ['zabra ls -R /brokers', 'everything below /brokers'],
    ['zabra ls -w /workers', 'wait until a worker joins or leaves'],
  ],
  async run({ args, options, out, signal, connect }) {
    const path = cleanPath(args.path ?? '/')
    const client = await connect({ isLasting: options.watch === true })
    if (options.recursive === true) {
      const progress = out.progress('reading')
      const paths: string[] = []
      let top: WalkedNode | undefined
      for await (const node of walk(client, path, { signal })) {
        progress.add()
        await out.drained()
        top ??= node
        if (out.json) paths.push(node.path)
        else out.line(node.path)
      }
      const stat = options.stat === true ? top?.stat : undefined
      if (out.json) await out.data({ path, paths, ...(stat && { stat: statJson(stat) }) })
      else if (stat !== undefined) for (const line of statLines(stat)) out.line(line)
      return
    }
    const change = options.watch === true ? nextChange(signal) : undefined
    const { children, stat } = await client.childrenWithStat(path, { watch: change?.watch })
    const names = children.toSorted()
    if (out.json) await out.data({ path, children: names, stat: statJson(stat) })
    else {
      for (const name of names) out.line(name)
      if (options.stat === true) for (const line of statLines(stat)) out.line(line)
    }
    if (change === undefined) return
    const { type } = await change.happened
    if (out.json) out.dataLine({ change: type, path })
    else out.line(`${type} ${path}`)
  },
})
