import { ZkUsageError, type ZkCommand } from './zk-command.ts'

const addWatchUsage =
  '[-m mode] path # optional mode is one of [PERSISTENT, PERSISTENT_RECURSIVE] - default is PERSISTENT_RECURSIVE'

export const addWatch: ZkCommand = {
  usage: addWatchUsage,
  summary: 'Print every change of a node, or of everything below it',
  examples: ['addWatch /app', 'addWatch -m PERSISTENT /app'],
  flags: { m: 'value' },
  argsMin: 1,
  async run({ session, flags, args }) {
    const mode = (flags.get('m') ?? 'PERSISTENT_RECURSIVE').toUpperCase()
    if (mode !== 'PERSISTENT' && mode !== 'PERSISTENT_RECURSIVE')
      throw new ZkUsageError(`addWatch ${addWatchUsage}`)
    await session.watches.addLasting(args[0]!, mode === 'PERSISTENT_RECURSIVE')
  },
}

export const removewatches: ZkCommand = {
  usage: 'path [-c|-d|-a] [-l]',
  summary:
    'Take watches of this session back: -c of children, -d of data, -p persistent, -r recursive, -a any',
  examples: ['removewatches /app', 'removewatches /app -d'],
  flags: { c: 'flag', d: 'flag', p: 'flag', r: 'flag', a: 'flag', l: 'flag' },
  argsMin: 1,
  async run({ session, flags, args }) {
    const kinds = { c: 'children', d: 'data', p: 'persistent', r: 'recursive', a: 'any' } as const
    const letter = (['c', 'd', 'p', 'r', 'a'] as const).find((one) => flags.has(one)) ?? 'a'
    await session.watches.remove(args[0]!, kinds[letter])
  },
}

export const printwatches: ZkCommand = {
  usage: 'on|off',
  summary: 'Print what watches tell, or do not',
  examples: ['printwatches off'],
  isLocal: true,
  async run({ session, args }) {
    const [choice] = args
    if (choice === undefined)
      session.out.line(`printwatches is ${session.watches.isPrinting ? 'on' : 'off'}`)
    else session.watches.isPrinting = choice === 'on'
  },
}
