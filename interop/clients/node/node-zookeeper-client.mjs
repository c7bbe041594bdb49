/** Adapts the pure JavaScript client to the checks. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { main } from './checks.mjs'
import { say } from './talk.mjs'

const library = createRequire(join(process.argv[2], 'x'))('node-zookeeper-client')

/** A connection state of the library, which it does not export. */
const connecting = 1

class Session {
  constructor(client) {
    this.client = client
    this.expired = new Promise((resolve) => client.once('expired', resolve))
    this.#insist(client.connectionManager)
  }

  /**
   * The library waits forever for the answer to its connect request, and Apache sometimes does not
   * answer one that arrives while it starts. A new attempt is what other clients make.
   */
  #insist(connection) {
    let timer
    connection.on('state', (state) => {
      clearTimeout(timer)
      if (state !== connecting) return
      timer = setTimeout(() => {
        say('note a connection was left without an answer for 3 s and is given up')
        connection.socket.destroy()
      }, 3000)
    })
  }

  get id() {
    return this.client.getSessionId().toString('hex')
  }

  get timeoutMs() {
    return this.client.getSessionTimeout()
  }

  create(path, data, mode) {
    return this.call('create', path, data, mode)
  }

  async get(path, hear) {
    // Two results, of which promisify would return one.
    return new Promise((resolve, reject) => {
      this.client.getData(path, watcher(hear), (error, data, stat) => {
        if (error) reject(error)
        else resolve({ data, stat: plain(stat) })
      })
    })
  }

  async set(path, data, version) {
    return plain(await this.call('setData', path, data, version))
  }

  async exists(path, hear) {
    const stat = await this.call('exists', path, watcher(hear))
    return stat ? plain(stat) : null
  }

  children(path, hear) {
    return this.call('getChildren', path, watcher(hear))
  }

  remove(path, version) {
    return this.call('remove', path, version)
  }

  async getAcl(path) {
    const acls = await this.call('getACL', path)
    return acls.map(({ permission, id }) => ({ perms: permission, scheme: id.scheme, id: id.id }))
  }

  setAcl(path, acls, version) {
    const foreign = acls.map(
      ({ perms, scheme, id }) => new library.ACL(perms, new library.Id(scheme, id)),
    )
    return this.call('setACL', path, foreign, version)
  }

  /** It has no callback; the requests behind it are processed after it. */
  async addAuth(scheme, auth) {
    this.client.addAuthInfo(scheme, Buffer.from(auth))
  }

  multi(fill) {
    const transaction = fill(this.client.transaction())
    return promisify(transaction.commit.bind(transaction))()
  }

  async close() {
    const gone = new Promise((resolve) => this.client.once('disconnected', resolve))
    this.client.close()
    await gone
  }

  call(method, ...args) {
    // The library recognizes omitted arguments by their absence, not by undefined.
    const given = args.filter((arg) => arg !== undefined)
    return promisify(this.client[method].bind(this.client))(...given)
  }
}

function watcher(hear) {
  return hear && ((event) => hear(event.getType(), event.getPath()))
}

function plain(stat) {
  const { version, numChildren, ephemeralOwner } = stat
  return { version, numChildren, owner: ephemeralOwner.toString('hex') }
}

async function open(server, timeoutMs) {
  const client = library.createClient(server, { sessionTimeout: timeoutMs, spinDelay: 100 })
  const connected = new Promise((resolve) => client.once('connected', resolve))
  client.connect()
  await connected
  return new Session(client)
}

const lacks = (what) => `node-zookeeper-client has no ${what}`
await main({
  open,
  absent: {
    'create-container': lacks('containers'),
    'create-ttl': lacks('nodes with a time to live'),
    'watch-persistent': lacks('persistent watches'),
    'watch-recursive': lacks('recursive watches'),
    'watch-removed': lacks('call to remove watches'),
    sync: lacks('sync'),
  },
})
