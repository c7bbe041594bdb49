import { noData, type Stat } from '@zabra/client'
import { showData } from '../../node/show-data.ts'
import { walk } from '../../node/walk.ts'
import { zkHexDump, zkList, zkStat } from './format.ts'
import { ZkError, type ZkCommand } from './zk-command.ts'

const noNode = (path: string): ZkError => new ZkError(`Node does not exist: ${path}`)

/** `get PATH watch` of ZooKeeper 3.4. */
function hasOldWatch(
  name: string,
  args: readonly string[],
  complain: (text: string) => void,
  advice = `'${name} path [watch]' has been deprecated. Please use '${name} [-w] path' instead.`,
): boolean {
  if (args.length < 2) return false
  complain(advice)
  return true
}

export const get: ZkCommand = {
  usage: '[-s] [-w] [-b] [-x] path',
  summary: 'Print the data of a node',
  examples: ['get /app', 'get -s /app', 'get -w /app'],
  flags: { s: 'flag', w: 'flag', b: 'flag', x: 'flag' },
  explained: [
    ' -b   Output data in base64 format',
    ' -s   Print znode stats additionally',
    ' -w   Watch for changes on the znode',
    ' -x   Output data in hexdump format',
    '',
  ],
  argsMin: 1,
  async run({ session, flags, args }) {
    const [path = ''] = args
    const { out, client } = session
    const isOld = hasOldWatch(
      'get',
      args,
      session.complain,
      `'get path [watch]' has been deprecated. Please use 'get [-s] [-w] path' instead.`,
    )
    const watch = flags.has('w') || isOld ? session.watches.onData(path) : undefined
    const { data, stat } = await client.get(path, { watch: watch?.fire })
    watch?.set()
    const bytes = data === noData ? Buffer.from('null') : data
    if (flags.has('x')) out.line(zkHexDump(bytes))
    else if (flags.has('b')) out.line(Buffer.from(bytes).toString('base64'))
    else await showData(bytes, out)
    if (flags.has('s')) out.line(zkStat(stat))
  },
}

export const ls: ZkCommand = {
  usage: '[-s] [-w] [-R] path',
  summary: 'List the children of a node',
  examples: ['ls /', 'ls -s /app', 'ls -R /app'],
  flags: { s: 'flag', w: 'flag', R: 'flag' },
  argsMin: 1,
  async run({ session, flags, args }) {
    const [path = ''] = args
    const { out, client } = session
    if (flags.has('R')) {
      // The first read gives a bad path, or one that does not exist, its sentence.
      const watch = flags.has('w') ? session.watches.onChildren(path) : undefined
      await client.children(path, { watch: watch?.fire })
      watch?.set()
      let code = 0
      for await (const node of walk(client, path, { signal: session.signal })) {
        out.line(node.path)
        if (!node.isHidden) continue
        session.complain(`Insufficient permission : ${node.path}`)
        code = 1
      }
      return code
    }
    const isOld = hasOldWatch('ls', args, session.complain)
    const watch = flags.has('w') || isOld ? session.watches.onChildren(path) : undefined
    const { children, stat } = await client.childrenWithStat(path, { watch: watch?.fire })
    watch?.set()
    out.line(zkList(children.toSorted()))
    if (flags.has('s')) out.line(zkStat(stat))
  },
}

export const stat: ZkCommand = {
  usage: '[-w] path',
  summary: 'Print the stat of a node',
  examples: ['stat /app', 'stat -w /app'],
  flags: { w: 'flag' },
  argsMin: 1,
  async run({ session, flags, args }) {
    const [path = ''] = args
    const { out, client } = session
    const isOld = hasOldWatch('stat', args, session.complain)
    const watch = flags.has('w') || isOld ? session.watches.onData(path) : undefined
    const found: Stat | undefined = await client.exists(path, { watch: watch?.fire })
    watch?.set()
    if (found === undefined) throw noNode(path)
    out.line(zkStat(found))
  },
}

export const getAllChildrenNumber: ZkCommand = {
  usage: 'path',
  summary: 'Print how many nodes there are below a node, at any depth',
  examples: ['getAllChildrenNumber /app'],
  argsMin: 1,
  async run({ session, args }) {
    session.out.line(String(await session.client.countDescendants(args[0]!)))
  },
}

export const getEphemerals: ZkCommand = {
  usage: 'path',
  summary: 'List the ephemeral nodes of this session',
  examples: ['getEphemerals', 'getEphemerals /workers'],
  async run({ session, args }) {
    const paths = await session.client.ephemerals(args[0] ?? '/')
    session.out.line(zkList(paths.toSorted()))
  },
}

export const sync: ZkCommand = {
  usage: 'path',
  summary: 'Wait until the server has everything that was committed',
  examples: ['sync /'],
  argsMin: 1,
  async run({ session, args }) {
    await session.client.sync(args[0]!)
    session.out.line('Sync is OK')
  },
}
