/** The checks of both npm clients, using the few calls that their adapters share. */
import { setTimeout as delay } from 'node:timers/promises'
import { ask, check, demand, Ear, refused, same, say, within } from './talk.mjs'

export const mode = { persistent: 0, ephemeral: 1, sequential: 2, ephemeralSequential: 3 }
export const event = { created: 1, deleted: 2, changed: 3, child: 4 }

const code = {
  connectionLoss: -4,
  operationTimeout: -7,
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  noChildrenForEphemerals: -108,
  nodeExists: -110,
  notEmpty: -111,
  invalidAcl: -114,
}
const sessionTimeoutMs = 8000

/** `node CLIENT.mjs MODULES checks|twin HOST:PORT PATH` */
export async function main({ open, absent }) {
  const [role, server, path] = process.argv.slice(3)
  if (role === 'twin') await twin(open, server, path)
  else await new Checks(open, server, path).run(absent)
  process.exit(0)
}

/** Runs only to be stopped by the harness until its session has expired. */
async function twin(open, server, path) {
  const session = await open(server, 2000)
  await session.create(path, null, mode.ephemeral)
  say('ready')
  await within(40_000, 'expiry', session.expired)
  say('expired')
}

class Checks {
  constructor(open, server, root) {
    this.open = (timeoutMs) => within(10_000, 'a session', open(server, timeoutMs))
    this.root = root
  }

  async run(absent) {
    const checks = {
      connect: () => this.connect(),
      create: () => this.create(),
      'create-container': () => this.createContainer(),
      'create-ttl': () => this.createTtl(),
      'get-set': () => this.getSet(),
      exists: () => this.exists(),
      children: () => this.children(),
      delete: () => this.delete(),
      versions: () => this.versions(),
      refusals: () => this.refusals(),
      acl: () => this.acl(),
      multi: () => this.multi(),
      'multi-refused': () => this.multiRefused(),
      'watch-data': () => this.watchData(),
      'watch-exists': () => this.watchExists(),
      'watch-child': () => this.watchChild(),
      sync: () => this.sync(),
      'restart-soft': () => this.restart('restart-soft'),
      'restart-hard': () => this.restart('restart-hard'),
      'restart-watches': () => this.restartWatches(),
      expiry: () => this.expiry(),
      close: () => this.close(),
    }
    for (const [name, body] of Object.entries(checks)) {
      if (!(name in absent)) await check(name, body)
    }
    for (const [name, why] of Object.entries(absent)) say(`absent ${name} ${why}`)
    await this.zk?.close()
  }

  async connect() {
    this.zk = await this.open(sessionTimeoutMs)
    demand(!/^0*$/.test(this.zk.id), 'session id 0')
    same(sessionTimeoutMs, this.zk.timeoutMs, 'negotiated timeout')
    await this.zk.create(this.root, Buffer.from('root'), mode.persistent)
  }

  async create() {
    const base = await this.make('/create')
    same(`${base}/plain`, await this.zk.create(`${base}/plain`, null, mode.persistent), 'path')
    const name = await this.zk.create(`${base}/s-`, null, mode.sequential)
    same(`${base}/s-0000000001`, name, 'name')
    const both = await this.zk.create(`${base}/s-`, null, mode.ephemeralSequential)
    same(`${base}/s-0000000002`, both, 'name')
    await this.zk.create(`${base}/e`, null, mode.ephemeral)
    same(this.zk.id, (await this.zk.exists(`${base}/e`)).owner, 'owner')
  }

  async createContainer() {
    const path = await this.zk.createContainer(`${this.root}/container`)
    await this.make('/container/child')
    same(`${this.root}/container`, path, 'path')
  }

  async createTtl() {
    same(`${this.root}/ttl`, await this.zk.createTtl(`${this.root}/ttl`, 60_000), 'path')
  }

  async getSet() {
    const path = await this.make('/data', 'one')
    const first = await this.zk.get(path)
    same(['one', 0], [first.data.toString(), first.stat.version], 'data and version')
    same(1, (await this.zk.set(path, Buffer.from('two'), 0)).version, 'version')
    same(2, (await this.zk.set(path, Buffer.alloc(0), -1)).version, 'version')
    same(0, (await this.zk.get(path)).data?.length ?? 0, 'length of empty data')
    const large = Buffer.alloc(900_000, 7)
    await this.zk.set(path, large, 2)
    demand(large.equals((await this.zk.get(path)).data), '900 kB came back changed')
  }

  async exists() {
    same(null, await this.zk.exists(`${this.root}/nothing`), 'stat of nothing')
    demand((await this.zk.exists(this.root)) !== null, 'the root exists')
  }

  async children() {
    const base = await this.make('/family')
    same([], await this.zk.children(base), 'no children yet')
    for (const name of ['a', 'b', 'ü']) await this.make(`/family/${name}`)
    same(['a', 'b', 'ü'], (await this.zk.children(base)).toSorted(), 'children')
    same(3, (await this.zk.exists(base)).numChildren, 'number of children')
  }

  async delete() {
    const path = await this.make('/gone')
    await this.zk.remove(path, 0)
    same(null, await this.zk.exists(path), 'stat of a deleted node')
  }

  async versions() {
    const path = await this.make('/versions')
    await this.zk.set(path, Buffer.from('x'), 0)
    await refused(code.badVersion, this.zk.set(path, Buffer.from('x'), 0))
    await refused(code.badVersion, this.zk.remove(path, 0))
    await this.zk.remove(path, 1)
  }

  async refusals() {
    const path = await this.make('/refusals')
    await this.zk.create(`${path}/e`, null, mode.ephemeral)
    await refused(code.nodeExists, this.make('/refusals'))
    await refused(code.noNode, this.zk.get(`${path}/no`))
    await refused(code.noNode, this.make('/refusals/no/child'))
    await refused(code.noNode, this.zk.remove(`${path}/no`, -1))
    await refused(code.notEmpty, this.zk.remove(path, -1))
    await refused(code.noChildrenForEphemerals, this.make('/refusals/e/child'))
  }

  async acl() {
    const owner = await this.open(sessionTimeoutMs)
    const other = await this.open(sessionTimeoutMs)
    try {
      await this.aclBetween(owner, other)
    } finally {
      await owner.close()
      await other.close()
    }
  }

  async aclBetween(owner, other) {
    const path = await this.make('/acl', 'mine')
    await owner.addAuth('digest', 'ann:secret')
    await owner.setAcl(path, [{ perms: 31, scheme: 'auth', id: '' }], 0)
    const [entry, ...more] = await owner.getAcl(path)
    same([31, 'digest', 0], [entry.perms, entry.scheme, more.length], 'entries')
    demand(entry.id.startsWith('ann:'), `id ${entry.id}`)
    await refused(code.noAuth, other.get(path))
    await refused(code.noAuth, other.setAcl(path, [anyone(31)], -1))
    await owner.setAcl(path, [entry, anyone(1)], 1)
    await refused(code.badVersion, owner.setAcl(path, [entry, anyone(1)], 1))
    same('mine', (await other.get(path)).data.toString(), 'data')
    await refused(code.noAuth, other.set(path, Buffer.from('x'), -1))
    await other.addAuth('digest', 'ann:secret')
    await other.set(path, Buffer.from('ours'), -1)
    const nonsense = [{ perms: 31, scheme: 'nonsense', id: 'x' }]
    await refused(code.invalidAcl, owner.setAcl(path, nonsense, -1))
  }

  async multi() {
    const base = await this.make('/multi')
    await this.make('/multi/old')
    await this.zk.multi((transaction) =>
      transaction
        .create(`${base}/new`, Buffer.from('n'))
        .setData(`${base}/new`, Buffer.from('m'), 0)
        .check(`${base}/new`, 1)
        .remove(`${base}/old`, -1),
    )
    same(1, (await this.zk.exists(`${base}/new`)).version, 'version')
    same(['new'], await this.zk.children(base), 'children')
  }

  async multiRefused() {
    const base = await this.make('/refused')
    const batch = this.zk.multi((transaction) =>
      transaction.create(`${base}/new`).check(base, 7).remove(`${base}/new`, -1),
    )
    await refused(code.badVersion, batch)
    same([], await this.zk.children(base), 'children after a refused transaction')
  }

  async watchData() {
    const path = await this.make('/watch-data')
    const ear = new Ear()
    await this.zk.get(path, ear.hear)
    await this.zk.set(path, Buffer.from('1'), -1)
    await ear.expect(event.changed, path)
    await this.zk.set(path, Buffer.from('2'), -1)
    ear.expectSilence()
    await this.zk.get(path, ear.hear)
    await this.zk.remove(path, -1)
    await ear.expect(event.deleted, path)
  }

  async watchExists() {
    const path = `${this.root}/watch-exists`
    const ear = new Ear()
    await this.zk.exists(path, ear.hear)
    await this.make('/watch-exists')
    await ear.expect(event.created, path)
    await this.zk.exists(path, ear.hear)
    await this.zk.set(path, Buffer.from('1'), -1)
    await ear.expect(event.changed, path)
  }

  async watchChild() {
    const path = await this.make('/watch-child')
    const ear = new Ear()
    await this.zk.children(path, ear.hear)
    await this.make('/watch-child/a')
    await ear.expect(event.child, path)
    await this.zk.children(path, ear.hear)
    await this.zk.remove(`${path}/a`, -1)
    await ear.expect(event.child, path)
  }

  async sync() {
    await this.zk.sync(this.root)
  }

  async restart(how) {
    const path = `${this.root}/${how}`
    await this.zk.create(path, Buffer.from('first'), mode.ephemeral)
    await this.zk.set(path, Buffer.from('acknowledged'), -1)
    const { id } = this.zk
    await ask(how)
    const { data, stat } = await patiently(() => this.zk.get(path))
    same('acknowledged', data.toString(), 'data')
    same(id, stat.owner, 'owner')
    same(id, this.zk.id, 'session id')
    await patiently(() => this.zk.set(path, Buffer.from('after'), 1))
  }

  async restartWatches() {
    const path = await this.make('/rewatch')
    const [data, created, child] = [new Ear(), new Ear(), new Ear()]
    await this.zk.get(path, data.hear)
    await this.zk.exists(`${path}/a`, created.hear)
    await this.zk.children(path, child.hear)
    await ask('restart-soft')
    await patiently(() => this.zk.set(path, Buffer.from('x'), -1))
    await this.make('/rewatch/a')
    await data.expect(event.changed, path)
    await created.expect(event.created, `${path}/a`)
    await child.expect(event.child, path)
  }

  async expiry() {
    const path = `${this.root}/twin`
    await ask(`twin ${path}`)
    const ear = new Ear()
    demand((await this.zk.exists(path, ear.hear)) !== null, "the twin's ephemeral is not there")
    await ear.expect(event.deleted, path, 10_000)
    await ask('thaw')
  }

  async close() {
    const path = `${this.root}/closing`
    const closing = await this.open(sessionTimeoutMs)
    await closing.create(path, null, mode.ephemeral)
    const ear = new Ear()
    demand((await this.zk.exists(path, ear.hear)) !== null, 'the ephemeral is not there')
    await closing.close()
    await ear.expect(event.deleted, path, 2000)
  }

  make(below, data = '') {
    return this.zk.create(this.root + below, Buffer.from(data), mode.persistent)
  }
}

function anyone(perms) {
  return { perms, scheme: 'world', id: 'anyone' }
}

/** Repeats a call while the connection is lost, for as long as a session could survive that. */
async function patiently(call) {
  const deadline = Date.now() + 15_000
  for (;;) {
    try {
      return await within(12_000, 'an answer', call())
    } catch (error) {
      const lost = error.code === code.connectionLoss || error.code === code.operationTimeout
      if (!lost || Date.now() > deadline) throw error
      await delay(50)
    }
  }
}
