import { walk } from '../../node/walk.ts'
import { parseZkAcl, zkAcl, zkStat } from './format.ts'
import { versionOf, type ZkCommand } from './zk-command.ts'

export const getAcl: ZkCommand = {
  usage: '[-s] path',
  summary: 'Print who may do what with a node',
  examples: ['getAcl /app', 'getAcl -s /app'],
  flags: { s: 'flag' },
  argsMin: 1,
  async run({ session, flags, args }) {
    const { acl, stat } = await session.client.getAcl(args[0]!)
    session.out.line(zkAcl(acl))
    if (flags.has('s')) session.out.line(zkStat(stat))
  },
}

export const setAcl: ZkCommand = {
  usage: '[-s] [-v version] [-R] path acl',
  summary: 'Change the ACL of a node; -R with everything below it',
  examples: [
    'setAcl /app world:anyone:r',
    'setAcl /app digest:ann:HASH=:cdrwa',
    'setAcl -R /app auth::cdrwa',
  ],
  flags: { s: 'flag', v: 'value', R: 'flag' },
  argsMin: 2,
  async run({ session, flags, args }) {
    const [path = '', text = ''] = args
    const { client, out } = session
    const acl = parseZkAcl(text, session.complain)
    const version = versionOf(flags)
    if (!flags.has('R')) {
      const stat = await client.setAcl(path, acl, version)
      if (flags.has('s')) out.line(zkStat(stat))
      return
    }
    const paths: string[] = []
    await client.getAcl(path)
    for await (const node of walk(client, path, { signal: session.signal })) paths.push(node.path)
    for (const one of paths) await client.setAcl(one, acl, version)
  },
}

export const addauth: ZkCommand = {
  usage: 'scheme auth',
  summary: 'Present an identity',
  examples: ['addauth digest ann:secret'],
  argsMin: 2,
  async run({ session, args }) {
    const [scheme = '', credentials = ''] = args
    await session.client.addAuth(scheme, credentials)
  },
}

export const whoami: ZkCommand = {
  usage: '',
  summary: 'List the identities of this connection',
  examples: ['whoami'],
  async run({ session }) {
    const identities = await session.client.whoAmI()
    session.out.line(
      ['Auth scheme: User', ...identities.map(({ scheme, user }) => `${scheme}: ${user}`)].join(
        '\n',
      ),
    )
  },
}
