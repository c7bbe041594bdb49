import { readFileSync } from 'node:fs'
import { textOf } from '../../node/data.ts'
import { zkStat } from './format.ts'
import { ZkError, ZkUsageError, type ZkCommand } from './zk-command.ts'

const reconfigUsage =
  '[-s] [-v version] [[-file path] | [-members serverID=host:port1:port2;port3[,...]*]] | [-add serverId=host:port1:port2;port3[,...]]* [-remove serverId[,...]*]'

export const config: ZkCommand = {
  usage: '[-c] [-w] [-s]',
  summary: 'Print the members of the ensemble; -c the addresses for clients',
  examples: ['config', 'config -c'],
  flags: { c: 'flag', w: 'flag', s: 'flag' },
  async run({ session, flags }) {
    const watch = flags.has('w') ? session.watches.onData('/zookeeper/config') : undefined
    const { data, stat } = await session.client.getConfig({ watch: watch?.fire })
    watch?.set()
    const text = textOf(data) ?? ''
    session.out.line(flags.has('c') ? clientAddresses(text) : text)
    if (flags.has('s')) session.out.line(zkStat(stat))
  },
}

/** The addresses for clients, and the version of the configuration behind them. */
function clientAddresses(text: string): string {
  const addresses: string[] = []
  let version = ''
  for (const line of text.split('\n')) {
    const [key = '', ...rest] = line.split('=')
    const value = rest.join('=')
    if (key === 'version') version = value
    if (!key.startsWith('server.')) continue
    const client = value.split(';')[1]?.split('|')[0]
    if (client === undefined) continue
    const host = value.slice(0, value.lastIndexOf(':', value.indexOf(';'))).replace(/(:\d+)+$/, '')
    addresses.push(
      client.includes(':')
        ? client.replace(/^0\.0\.0\.0:/, `${host.split(':')[0]}:`)
        : `${host.split(':')[0]}:${client}`,
    )
  }
  return `${addresses.join(',')} ${version}`
}

export const reconfig: ZkCommand = {
  usage: reconfigUsage,
  summary: 'Change the members of the ensemble',
  examples: ['reconfig -add "server.4=zk4:2888:3888;2181"', 'reconfig -remove 3'],
  flags: { s: 'flag', v: 'value', file: 'value', members: 'value', add: 'value', remove: 'value' },
  async run({ session, flags }) {
    const joining = flags.get('add')
    const leaving = flags.get('remove')
    const file = flags.get('file')
    const members = flags.get('members')
    const isIncremental = joining !== undefined || leaving !== undefined
    if (file === undefined && members === undefined && !isIncremental)
      throw new ZkUsageError(`reconfig ${reconfigUsage}`)
    if (isIncremental && (file !== undefined || members !== undefined))
      throw new ZkUsageError(
        "Can't use -file or -members together with -add or -remove (mixing incremental and non-incremental modes is not allowed)",
      )
    if (file !== undefined && members !== undefined)
      throw new ZkUsageError("Can't use -file and -members together")
    const newMembers = file === undefined ? members : membersIn(file)
    const version = flags.get('v')
    if (version !== undefined && !/^(0x)?[0-9a-f]+$/i.test(version))
      throw new ZkUsageError(`-v needs a version in hexadecimal, not ${version}`)
    const { data, stat } = await session.client.reconfig({
      joining,
      leaving,
      newMembers,
      ...(version === undefined ? {} : { ifVersion: BigInt(`0x${version.replace(/^0x/i, '')}`) }),
    })
    session.out.line(`Committed new configuration:\n${textOf(data) ?? ''}`)
    if (flags.has('s')) session.out.line(zkStat(stat))
  },
}

function membersIn(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ZkError(`Error processing ${file}: ${(error as Error).message}`)
  }
  const lines = text.split('\n').map((line) => line.trim())
  const members = lines.filter((line) => /^(server|group|weight)\./.test(line))
  if (members.length === 0) throw new ZkError(`Error processing ${file}: no line server.N=...`)
  return members.join(',')
}
