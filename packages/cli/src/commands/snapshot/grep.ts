import { defineCommand } from '../../framework/command.ts'
import { UsageError } from '../../framework/errors.ts'
import { exitCodes } from '../../framework/exit-codes.ts'
import { cleanPath } from '../../node/paths.ts'
import { findSnapshots } from '../../offline/files.ts'
import { hexOf } from '../../offline/filters.ts'
import { readSnapshot } from '../../offline/snapshots.ts'
import { showNode } from '../../offline/show-node.ts'

export const command = defineCommand({
  arguments: {
    file: { kind: 'file', help: 'a snapshot, or a data directory for its newest snapshot' },
  },
  options: {
    path: { type: 'text', value: 'PATH', help: 'this node and its subtree' },
    session: { type: 'text', value: 'ID', help: 'ephemeral nodes of this session, in hexadecimal' },
    content: {
      type: 'text',
      value: 'PATTERN',
      help: 'nodes whose data matches a regular expression',
    },
    data: { type: 'flag', help: 'include the data of nodes' },
  },
  offline: true,
  details: 'Prints the nodes that match all options. Exit code 1 means that there are none.',
  examples: [
    ['zabra snapshot grep snapshot.100000000 --path /config --data', 'a subtree at that time'],
    ['zabra snapshot grep data --content 10.0.0.7', 'nodes that contain an address'],
  ],
  async run({ args, options, out, signal }) {
    const path = options.path === undefined ? undefined : cleanPath(options.path)
    const session = options.session === undefined ? undefined : hexOf('--session', options.session)
    const content = options.content === undefined ? undefined : patternOf(options.content)
    const { directory, files } = await findSnapshots(args.file)
    let count = 0
    await readSnapshot(directory, files.at(-1)!.name, (node) => {
      signal.throwIfAborted()
      const isBelow =
        path === undefined || path === '/' || node.path === path || node.path.startsWith(`${path}/`)
      if (!isBelow) return
      if (session !== undefined && BigInt.asUintN(64, node.stat.ephemeralOwner) !== session) return
      if (content !== undefined && !content.test(Buffer.from(node.data ?? []).toString())) return
      count++
      showNode(node, out, options.data === true)
    })
    return count === 0 ? exitCodes.no : exitCodes.ok
  },
})

function patternOf(text: string): RegExp {
  try {
    return new RegExp(text, 'u')
  } catch (error) {
    throw new UsageError(`--content: ${(error as Error).message}`)
  }
}
