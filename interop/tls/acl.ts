import { createFlags, type Acl } from '@zabra/protocol'
import { clientService, DigestMd5Client } from '../../packages/server/src/auth/digest-md5.ts'
import { Random } from '../../packages/server/test/support/random.ts'
import { openAcl, RawClient } from '../../packages/server/test/support/raw-client.ts'
import type { Apache } from '../src/apache.ts'
import { apacheCommand, zabraCommand } from '../src/commands.ts'
import { connectAsSuper } from '../src/super-user.ts'
import { saslUser, type Pki } from './pki.ts'
import { SecureServer } from './secure-server.ts'

const digestOfBob = 'bob:ikIaKsbtGweaHnb/jKn7OHqbunM='
const pairs = 60

/** Everything that an ACL may contain, valid or not. */
const ids: readonly (readonly [string | null, string | null])[] = [
  ['world', 'anyone'],
  ['world', 'other'],
  ['auth', ''],
  ['auth', 'ignored'],
  ['digest', digestOfBob],
  ['digest', 'eve:x'],
  ['digest', 'bob'],
  ['digest', 'a:b:c'],
  ['ip', '127.0.0.1'],
  ['ip', '127.0.0.0/8'],
  ['ip', '10.0.0.1'],
  ['ip', '127.0.0.1/33'],
  ['sasl', saslUser.name],
  ['sasl', 'super'],
  ['sasl', 'alice@REALM'],
  ['sasl', 'a@b@c'],
  ['sasl', ''],
  ['x509', 'CN=alice,O=zabra'],
  ['x509', 'O=zabra, CN=alice'],
  ['x509', 'CN=root,O=zabra'],
  ['x509', 'nobody'],
  ['x509', ''],
  ['super', ''],
  ['ensemble', 'x'],
  ['unknown', 'x'],
  ['', ''],
]
const singlePerms = [31, 1, 2, 4, 8, 16] as const

/**
 * The ACLs to compare: each identity creates a node with each of them, and uses a node that has it.
 */
function lists(): readonly (readonly Acl[])[] {
  const entry = ([scheme, id]: (typeof ids)[number], perms: number): Acl => ({
    perms,
    id: { scheme, id },
  })
  const random = new Random(7)
  const anyPerms = (): number => random.int(32)
  return [
    [],
    ...ids.flatMap((id) => singlePerms.map((perms) => [entry(id, perms)])),
    ...Array.from({ length: pairs }, () =>
      Array.from({ length: 2 + random.int(2) }, () => entry(random.pick(ids), anyPerms())),
    ),
  ]
}

/** A client, described by its credentials. */
interface Identity {
  readonly name: string
  readonly certificate?: string
  readonly digests?: readonly string[]
  readonly sasl?: readonly [string, string]
  readonly ip?: boolean
}

const identities: readonly Identity[] = [
  { name: 'nobody' },
  { name: 'ip', ip: true },
  { name: 'digest bob', digests: ['bob:pw'] },
  { name: 'digest bob and eve', digests: ['bob:pw', 'eve:pw'] },
  { name: 'super by digest', digests: ['super:interop'] },
  { name: 'sasl bob', sasl: [saslUser.name, saslUser.password] },
  { name: 'sasl super', sasl: ['super', 'geheim'] },
  { name: 'x509 alice', certificate: 'alice' },
  { name: 'x509 super user', certificate: 'root' },
  {
    name: 'x509, digest and sasl',
    certificate: 'alice',
    digests: ['bob:pw'],
    sasl: [saslUser.name, saslUser.password],
  },
]

/** One server with a client for each identity. */
class Side {
  readonly name: string
  private readonly server: SecureServer
  private readonly root: RawClient
  private readonly clients: readonly RawClient[]

  static async start(
    command: ReturnType<typeof zabraCommand>,
    pki: Pki,
    certificates: Certificates,
  ): Promise<Side> {
    const server = await SecureServer.start(command, pki, { form: 'pem', clientAuth: 'want' })
    const clients: RawClient[] = []
    for (const identity of identities)
      clients.push(await connect(server, pki, identity, certificates))
    return new Side(command.name, server, await connectAsSuper(server.port), clients)
  }

  private constructor(
    name: string,
    server: SecureServer,
    root: RawClient,
    clients: readonly RawClient[],
  ) {
    this.name = name
    this.server = server
    this.root = root
    this.clients = clients
  }

  async whoAreThey(): Promise<string[]> {
    const answers = await Promise.all(this.clients.map((client) => client.must('whoAmI', {})))
    return answers.map(({ clientInfo }, i) => {
      const who = (clientInfo ?? []).map(({ authScheme, user }) => `${authScheme}:${user}`)
      return `${identities[i]!.name}: ${who.toSorted().join(' ')}`
    })
  }

  /** The answer that each identity gets for a create with this list, and the stored list. */
  async making(acl: readonly Acl[]): Promise<string[]> {
    const answers: string[] = []
    for (const [i, client] of this.clients.entries()) {
      const path = '/made'
      const { err } = await client.call('create', { path, data: null, acl: [...acl], flags: 0 })
      const stored = err === 0 ? await this.storedAcl(path) : ''
      answers.push(`${identities[i]!.name} creates: ${err} ${stored}`)
      if (err === 0) await this.root.must('delete', { path, version: -1 })
    }
    return answers
  }

  /** The answers that each identity gets for every operation on a node with this list. */
  async using(acl: readonly Acl[]): Promise<string[]> {
    const answers: string[] = []
    for (const [i, client] of this.clients.entries()) {
      const { err } = await this.prepare(acl)
      if (err !== 0) return [`the list is refused: ${err}`]
      answers.push(`${identities[i]!.name}: ${(await doEverything(client, acl)).join(' ')}`)
      await this.clear('/node')
    }
    return answers
  }

  private async prepare(acl: readonly Acl[]): Promise<{ err: number }> {
    await this.clear('/node')
    await this.root.must('create', {
      path: '/node',
      data: Buffer.from('x'),
      acl: openAcl,
      flags: 0,
    })
    await this.root.must('create', { path: '/node/child', data: null, acl: openAcl, flags: 0 })
    return this.root.call('setACL', { path: '/node', acl: [...acl], version: -1 })
  }

  private async clear(path: string): Promise<void> {
    const { err, response } = await this.root.call('getChildren', { path, watch: false })
    if (err !== 0) return
    for (const name of response!.children) {
      await this.root.must('delete', { path: `${path}/${name}`, version: -1 })
    }
    await this.root.must('delete', { path, version: -1 })
  }

  private async storedAcl(path: string): Promise<string> {
    return aclText((await this.root.must('getACL', { path })).acl)
  }

  async stop(): Promise<void> {
    await this.server.managed.dispose()
  }
}

/** All at once, because a connection is answered in order. */
async function doEverything(client: RawClient, acl: readonly Acl[]): Promise<string[]> {
  const path = '/node'
  const write = { data: Buffer.from('y'), version: -1 }
  const created = { data: null, acl: openAcl, flags: 0 }
  const both = [
    { type: 4, request: { path, watch: false } },
    { type: 8, request: { path, watch: false } },
  ] as const
  const calls = {
    exists: client.call('exists', { path, watch: false }),
    getData: client.call('getData', { path, watch: false }),
    getChildren: client.call('getChildren', { path, watch: false }),
    getChildren2: client.call('getChildren2', { path, watch: false }),
    count: client.call('getAllChildrenNumber', { path }),
    getACL: client.call('getACL', { path }).then((reply) => ({
      err: reply.err,
      more: reply.err === 0 ? aclText(reply.response!.acl) : '',
    })),
    sync: client.call('sync', { path }),
    multiRead: client.call('multiRead', [...both]).then(({ err, response }) => ({
      err,
      more: (response ?? []).map((part) => part.err).join(','),
    })),
    check: client.call('multi', [{ type: 13, request: { path, version: 0 } }]).then(partErrors),
    multi: client
      .call('multi', [
        { type: 1, request: { path: `${path}/m`, ...created } },
        { type: 5, request: { path, ...write } },
        { type: 2, request: { path: `${path}/m`, version: -1 } },
      ])
      .then(partErrors),
    create: client.call('create', { path: `${path}/old`, ...created }),
    create2: client.call('create2', { path: `${path}/new`, ...created }),
    ephemeral: client.call('create2', {
      path: `${path}/ephemeral`,
      ...created,
      flags: createFlags.ephemeral,
    }),
    container: client.call('createContainer', {
      path: `${path}/container`,
      ...created,
      flags: createFlags.container,
    }),
    ttl: client.call('createTTL', {
      path: `${path}/ttl`,
      ...created,
      flags: createFlags.persistentTtl,
      ttl: 60_000n,
    }),
    setData: client.call('setData', { path, ...write }),
    delete: client.call('delete', { path: `${path}/child`, version: -1 }),
    ephemerals: client.call('getEphemerals', { prefixPath: path }),
    watch: client.call('addWatch', { path, mode: 0 }),
    recursive: client.call('addWatch', { path, mode: 1 }),
    checkWatch: client.call('checkWatches', { path, type: 3 }),
    unwatch: client.call('removeWatches', { path, type: 3 }),
    whoAmI: client.call('whoAmI', {}),
    setACL: client.call('setACL', { path, acl: [...acl], version: -1 }),
    reconfig: client.call('reconfig', {
      joiningServers: null,
      leavingServers: null,
      newMembers: null,
      curConfigId: -1n,
    }),
  }
  const answers: string[] = []
  for (const [name, call] of Object.entries(calls)) {
    const reply: { err: number; more?: string } = await call
    answers.push(`${name}=${reply.err}${reply.more === undefined ? '' : `[${reply.more}]`}`)
  }
  return answers
}

function partErrors({
  err,
  response,
}: {
  err: number
  response: readonly { err: number }[] | undefined
}) {
  return { err, more: (response ?? []).map((part) => part.err).join(',') }
}

/** The order of several identities is not defined. */
function aclText(acl: readonly Acl[] | null): string {
  return (acl ?? [])
    .map(({ perms, id }) => `${id.scheme}:${id.id}:${perms}`)
    .toSorted()
    .join(' ')
}

type Certificates = ReadonlyMap<string, ReturnType<Pki['authority']['client']>>

async function connect(
  server: SecureServer,
  { authority }: Pki,
  { certificate, digests = [], sasl, ip = false }: Identity,
  certificates: Certificates,
): Promise<RawClient> {
  const tls = certificate === undefined ? undefined : certificates.get(certificate)
  const client = await RawClient.connect(tls === undefined ? server.port : server.securePort, {
    timeoutMs: 60_000,
    ...(tls === undefined ? {} : { tls: { ...tls, ca: authority.pem } }),
  })
  for (const auth of digests) {
    await client.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from(auth) })
  }
  if (ip) await client.must('auth', { type: 0, scheme: 'ip', auth: Buffer.alloc(0) })
  if (sasl !== undefined) {
    const [username, password] = sasl
    const exchange = new DigestMd5Client({ username, password }, clientService)
    const { token } = await client.must('sasl', { token: new Uint8Array(0) })
    exchange.answer((await client.must('sasl', { token: exchange.answer(token!) })).token!)
  }
  return client
}

/** Compares with Apache what each identity may do with each list. */
export async function compareAcls(
  apache: Apache,
  pki: Pki,
): Promise<{ compared: number; differences: string[] }> {
  const { authority } = pki
  const certificates = new Map(
    ['alice', 'root'].map((name) => [name, authority.client(authority.issue(name))]),
  )
  const sides: Side[] = []
  const differences: string[] = []
  let compared = 0
  const compare = async (where: string, ask: (side: Side) => Promise<string[]>): Promise<void> => {
    const [ours, theirs] = (await Promise.all(sides.map(ask))) as [string[], string[]]
    for (const [i, line] of theirs.entries()) {
      compared += line.split(' ').filter((word) => word.includes('=')).length + 1
      if (ours[i] !== line) differences.push(`${where}: zabra says ${ours[i]}, Apache ${line}`)
    }
  }
  try {
    for (const command of [zabraCommand(), apacheCommand(apache)]) {
      sides.push(await Side.start(command, pki, certificates))
    }
    await compare('identities', (side) => side.whoAreThey())
    for (const acl of lists()) {
      const where = aclText(acl)
      await compare(where, (side) => side.making(acl))
      await compare(where, (side) => side.using(acl))
    }
    return { compared, differences }
  } finally {
    await Promise.all(sides.map((side) => side.stop()))
  }
}
