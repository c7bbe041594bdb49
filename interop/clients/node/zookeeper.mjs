/** Adapts the native client, a binding of Apache's C client, to the checks. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { main } from './checks.mjs'

const ZooKeeper = createRequire(join(process.argv[2], 'x'))('zookeeper')

const containerMode = 4
const ttlMode = 5
const expiredState = -112
const noNode = -101
const sessionEvent = -1

class Session {
  constructor(client) {
    this.client = client
    this.expired = new Promise((resolve) => {
      client.on('close', (_, state) => state === expiredState && resolve())
    })
  }

  get id() {
    return this.client.client_id
  }

  get timeoutMs() {
    return this.client.timeout
  }

  create(path, data, mode) {
    return this.call('a_create', path, data ?? '', mode)
  }

  createContainer(path) {
    return this.create(path, '', containerMode)
  }

  createTtl(path, ttlMs) {
    return this.call('a_createTtl', path, '', ttlMode, ttlMs)
  }

  async get(path, hear) {
    const call = hear ? ['aw_get', path, watcher(hear)] : ['a_get', path, false]
    const [stat, data] = await this.results(...call)
    return { data, stat: plain(stat) }
  }

  async set(path, data, version) {
    return plain(await this.call('a_set', path, data, version))
  }

  async exists(path, hear) {
    const call = hear ? ['aw_exists', path, watcher(hear)] : ['a_exists', path, false]
    try {
      return plain(await this.call(...call))
    } catch (error) {
      if (error.code === noNode) return null
      throw error
    }
  }

  children(path, hear) {
    const call = hear ? ['aw_get_children', path, watcher(hear)] : ['a_get_children', path, false]
    return this.call(...call)
  }

  remove(path, version) {
    return this.call('a_delete_', path, version)
  }

  async getAcl(path) {
    const acls = await this.call('a_get_acl', path)
    return acls.map(({ perms, scheme, auth }) => ({ perms, scheme, id: auth }))
  }

  setAcl(path, acls, version) {
    const foreign = acls.map(({ perms, scheme, id }) => ({ perms, scheme, auth: id }))
    return this.call('a_set_acl', path, version, foreign)
  }

  addAuth(scheme, auth) {
    return this.call('add_auth', scheme, auth)
  }

  sync(path) {
    return this.call('a_sync', path)
  }

  async close() {
    this.client.close()
  }

  /** The first result of a call. */
  async call(method, ...args) {
    return (await this.results(method, ...args))[0]
  }

  results(method, ...args) {
    return new Promise((resolve, reject) => {
      const refuse = (rc, text) => {
        reject(Object.assign(new Error(`${method} ${args[0]}: ${rc} ${text}`), { code: rc }))
      }
      const sent = this.client[method](...args, (rc, text, ...results) => {
        if (rc === 0) resolve(results)
        else refuse(rc, text)
      })
      if (sent !== 0) refuse(sent, 'was not sent')
    })
  }
}

/** Watchers also get events of their session, which the checks ignore. */
function watcher(hear) {
  return (type, _state, path) => type !== sessionEvent && hear(type, path)
}

function plain({ version, numChildren, ephemeralOwner }) {
  return { version, numChildren, owner: ephemeralOwner }
}

async function open(server, timeoutMs) {
  const client = new ZooKeeper({
    connect: server,
    timeout: timeoutMs,
    debug_level: 1,
    // This client takes ten partial reads in a row for a dead server; a large reply arrives in more
    // parts.
    response_counter_limit: 10_000,
  })
  const connected = new Promise((resolve) => client.once('connect', resolve))
  client.init({})
  await connected
  return new Session(client)
}

const lacks = (what) => `the zookeeper package has no ${what}`
await main({
  open,
  absent: {
    multi: lacks('transactions'),
    'multi-refused': lacks('transactions'),
    'watch-persistent': lacks('persistent watches'),
    'watch-recursive': lacks('recursive watches'),
    'watch-removed': lacks('call to remove watches'),
  },
})
