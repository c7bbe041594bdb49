import { defineCommand } from '../../framework/command.ts'
import { storedKind } from '@zabra/protocol'
import { hex } from '../../node/stat.ts'
import { findSnapshots } from '../../offline/files.ts'
import { readSnapshot } from '../../offline/snapshots.ts'
import { Tally } from '../../offline/tally.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'file', help: 'a snapshot, or a data directory for its newest snapshot' },
  },
  options: { top: { type: 'integer', min: 1, help: 'number of largest nodes to show (10)' } },
  offline: true,
  examples: [['zabra snapshot stats /var/lib/zookeeper', 'the contents of the tree in numbers']],
  async run({ args, options, out, signal }) {
    const { top = 10 } = options
    const { directory, files } = await findSnapshots(args.path)
    const { name } = files.at(-1)!
    const kinds = new Tally()
    const children = new Tally()
    const largest: { path: string; bytes: number }[] = []
    const content = await readSnapshot(directory, name, ({ path, data, stat }) => {
      signal.throwIfAborted()
      const bytes = data?.length ?? 0
      kinds.add(storedKind(stat.ephemeralOwner), bytes)
      children.add(path.slice(0, path.lastIndexOf('/')) || '/', bytes)
      if (largest.length < top || bytes > largest.at(-1)!.bytes) {
        largest.push({ path, bytes })
        largest.sort((a, b) => b.bytes - a.bytes)
        if (largest.length > top) largest.pop()
      }
    })
    const digest = content.digest && hex(content.digest.value)
    const parents = children.most(top).map(({ name: path, count }) => ({ path, children: count }))
    if (out.json)
      return out.data({
        file: name,
        nodes: content.nodes,
        sessions: content.sessions.size,
        acls: content.acls.size,
        digest: digest ?? null,
        kinds: kinds.most(Infinity),
        largest,
        parents,
      })
    out.line(
      `${name}: ${content.nodes} nodes, ${content.sessions.size} sessions, ${content.acls.size} ACLs`,
    )
    out.line()
    out.table(
      ['KIND', 'NODES', 'BYTES'],
      kinds.most(Infinity).map((each) => [each.name, each.count, each.bytes]),
    )
    out.line()
    out.table(
      ['LARGEST', 'BYTES'],
      largest.map((each) => [each.path, each.bytes]),
    )
    out.line()
    out.table(
      ['MOST CHILDREN', 'COUNT'],
      parents.map((each) => [each.path, each.children]),
    )
  },
})
