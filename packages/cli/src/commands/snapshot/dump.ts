import { defineCommand } from '../../framework/command.ts'
import { findSnapshots } from '../../offline/files.ts'
import { readSnapshot } from '../../offline/snapshots.ts'
import { showNode } from '../../offline/show-node.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'file', help: 'a snapshot, or a data directory for its newest snapshot' },
  },
  options: { data: { type: 'flag', help: 'include the data of nodes' } },
  offline: true,
  examples: [
    ['zabra snapshot dump snapshot.100000000', 'every node, one per line'],
    ['zabra snapshot dump /var/lib/zookeeper --data --json', 'the newest snapshot, with data'],
  ],
  async run({ args, options, out, signal }) {
    const { directory, files } = await findSnapshots(args.path)
    await readSnapshot(directory, files.at(-1)!.name, (node) => {
      signal.throwIfAborted()
      showNode(node, out, options.data === true)
    })
  },
})
