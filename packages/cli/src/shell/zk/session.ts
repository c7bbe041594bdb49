import { parseInteger } from '../../framework/values.ts'
import { parseTarget } from '../../connection/target.ts'
import { version as ownVersion } from '../../version.ts'
import { ZkUsageError, type ZkCommand } from './zk-command.ts'

export const close: ZkCommand = {
  usage: '',
  summary: 'End the session',
  examples: ['close'],
  async run({ session }) {
    await session.close()
  },
}

export const connect: ZkCommand = {
  usage: 'host:port',
  summary: 'End the session and connect again, or to other servers',
  examples: ['connect zk1:2181,zk2:2181/app', 'connect'],
  isLocal: true,
  async run({ session, args }) {
    const [servers] = args
    const target = servers === undefined ? undefined : parseTarget(servers)
    await session.reconnect(target)
  },
}

export const history: ZkCommand = {
  usage: '',
  summary: 'List the last commands with their numbers',
  examples: ['history'],
  isLocal: true,
  async run({ session }) {
    for (const [number, line] of session.lines.slice(-11)) session.out.line(`${number} - ${line}`)
  },
}

export const redo: ZkCommand = {
  usage: 'cmdno',
  summary: 'Do a command of the history again',
  examples: ['redo 3'],
  isLocal: true,
  argsMin: 1,
  async run({ session, args }) {
    const number = parseInteger('the number of a command', args[0]!)
    const line = session.lines.find(([at]) => at === number)?.[1]
    if (line === undefined) throw new ZkUsageError('Command index out of range')
    return session.again(line)
  },
}

export const quit: ZkCommand = {
  usage: '',
  summary: 'End the session and leave',
  examples: ['quit'],
  isLocal: true,
  async run({ session }) {
    session.isOver = true
    await session.close()
    return session.exitCode
  },
}

/** What people type who come from other shells. */
export const exit: ZkCommand = {
  ...quit,
  summary: 'The same as quit, for habits of other shells',
  examples: ['exit'],
}

export const version: ZkCommand = {
  usage: '',
  summary: 'Print the version of this shell',
  examples: ['version'],
  isLocal: true,
  async run({ session }) {
    session.out.line(`ZooKeeper CLI version: zabra ${ownVersion()}`)
  },
}
