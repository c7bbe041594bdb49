import { defineCommand } from '../../framework/command.ts'
import { exitCodes } from '../../framework/exit-codes.ts'
import { sourceOptions } from '../../history/options.ts'
import { showChange } from '../../history/show-change.ts'
import { openSource } from '../../history/source.ts'
import { cleanPath } from '../../node/paths.ts'

const kinds = ['create', 'set', 'delete', 'acl', 'reconfig', 'openSession', 'closeSession'] as const

export const command = defineCommand({
  arguments: { path: { kind: 'path', optional: true, help: 'changes at this node and below it' } },
  options: {
    exact: { type: 'flag', help: 'changes at the node itself only' },
    session: { type: 'text', value: 'ID', help: 'changes by this session, in hexadecimal' },
    kind: { type: 'text', many: true, choices: kinds, help: 'changes of this kind' },
    from: { type: 'text', value: 'ZXID|TIME', help: 'from this zxid (0x...) or time on' },
    to: { type: 'text', value: 'ZXID|TIME', help: 'up to this zxid or time' },
    limit: { type: 'integer', min: 1, short: 'n', help: 'show at most this many (100)' },
    oldest: { type: 'flag', help: 'show the oldest first' },
    data: { type: 'flag', help: 'with the data of nodes' },
    ...sourceOptions,
  },
  details: `Lists changes, the newest first. The parts of a multi share a zxid. A server shows what the identity may read; files
show everything. Exit code 1: there are none.`,
  examples: [
    ['zabra history ls /app', 'what changed below /app'],
    ['zabra history ls /app --kind delete --from 2026-01-31T08:00Z', 'what was deleted since then'],
    ['zabra history ls --session 0x1000a --data-dir /var/lib/zookeeper', 'from files'],
  ],
  async run({ args, options, out, settings, signal }) {
    const source = await openSource(options, settings, signal)
    let count = 0
    for await (const change of source.changes({
      path: args.path === undefined ? undefined : cleanPath(args.path),
      isExact: options.exact,
      session: options.session && `0x${options.session.replace(/^0x/i, '')}`,
      kinds: options.kind,
      from: options.from,
      to: options.to,
      isOldestFirst: options.oldest,
      wantsData: options.data,
      limit: options.limit ?? 100,
    })) {
      count++
      await out.drained()
      showChange(change, out)
    }
    return count === 0 ? exitCodes.no : exitCodes.ok
  },
})
