import { noData } from '@zabra/client'
import { deleteSubtree } from '../../node/delete-subtree.ts'
import { parseZkAcl, zkStat } from './format.ts'
import { integerOf, versionOf, ZkError, ZkUsageError, type ZkCommand } from './zk-command.ts'

/** A TTL has 40 bits. */
const ttlMsMax = 2 ** 40 - 1

export const create: ZkCommand = {
  usage: '[-s] [-e] [-c] [-t ttl] path [data] [acl]',
  summary:
    'Create a node: -s sequential, -e ephemeral, -c container, -t with a TTL in milliseconds',
  examples: [
    'create /app "some data"',
    'create -s -e /workers/w- host1',
    'create -t 60000 /cache x',
  ],
  flags: { s: 'flag', e: 'flag', c: 'flag', t: 'value' },
  argsMin: 1,
  async run({ session, flags, args }) {
    const [path = '', data, acl] = args
    const isSequential = flags.has('s')
    const isEphemeral = flags.has('e')
    const isContainer = flags.has('c')
    if (isContainer && (isSequential || isEphemeral))
      throw new ZkUsageError(
        '-c cannot be combined with -s or -e. Containers cannot be ephemeral or sequential.',
      )
    const ttl = flags.get('t')
    if (ttl !== undefined && (isContainer || isEphemeral))
      throw new ZkUsageError(
        `TTLs cannot be used with ${isEphemeral ? 'Ephemeral' : 'Container'} znodes`,
      )
    if (ttl !== undefined && !/^-?\d+$/.test(ttl))
      throw new ZkUsageError('-t argument must be a long value')
    if (ttl !== undefined && (Number(ttl) <= 0 || Number(ttl) > ttlMsMax))
      throw new ZkUsageError(`ttl must be positive and cannot be larger than: ${ttlMsMax}`)
    const list = acl === undefined ? undefined : parseZkAcl(acl, session.complain)
    const created = await session.client.create(path, data ?? noData, {
      sequential: isSequential,
      ephemeral: isEphemeral,
      container: isContainer,
      ...(ttl === undefined ? {} : { ttlMs: Number(ttl) }),
      acl: list,
    })
    session.complain(`Created ${created.path}`)
  },
}

export const set: ZkCommand = {
  usage: 'path data [-s] [-v version] [-b]',
  summary: 'Change the data of a node; with -v only if it has this version',
  examples: ['set /app "other data"', 'set -v 3 /app x', 'set -b /app AAEC'],
  flags: { s: 'flag', v: 'value', b: 'flag' },
  explained: [
    ' -b         Supply data in base64 format',
    ' -s         Print znode stats additionally',
    ' -v <arg>   Set with an expected version',
    '',
  ],
  argsMin: 2,
  async run({ session, flags, args }) {
    const [path = '', text = ''] = args
    const data = flags.has('b') ? fromBase64(text) : text
    const stat = await session.client.set(path, data, versionOf(flags))
    if (flags.has('s')) session.out.line(zkStat(stat))
  },
}

function fromBase64(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new ZkUsageError('the data are not base64')
  return new Uint8Array(Buffer.from(text, 'base64'))
}

export const remove: ZkCommand = {
  usage: '[-v version] path',
  summary: 'Delete a node without children',
  examples: ['delete /app', 'delete -v 3 /app'],
  flags: { v: 'value' },
  argsMin: 1,
  async run({ session, flags, args }) {
    const [path = '', old] = args
    // As zkCli.sh does, which ignores the version.
    if (old !== undefined)
      session.complain(
        `'delete path [version]' has been deprecated. Please use 'delete [-v version] path' instead.`,
      )
    await session.client.delete(path, versionOf(flags))
  },
}

export const deleteall: ZkCommand = {
  usage: 'path [-b batch size]',
  summary: 'Delete a node with everything below it',
  examples: ['deleteall /app', 'deleteall /app -b 500'],
  flags: { b: 'value' },
  argsMin: 1,
  async run({ session, flags, args }) {
    const [path = ''] = args
    const batch = integerOf(flags, 'b') ?? 1000
    if (batch < 1) throw new ZkUsageError('-b needs a whole number from 1 on')
    const { client, signal } = session
    if ((await client.exists(path)) === undefined) throw new ZkError(`Node does not exist: ${path}`)
    const left = await deleteSubtree(client, path, { batch, signal })
    if (left > 0) throw new ZkError('Failed to delete some node(s) in the subtree!')
  },
}
