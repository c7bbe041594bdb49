import { createRequire } from 'node:module'
import { join } from 'node:path'
import { play } from './play.mjs'

const ZooKeeper = createRequire(join(process.argv[2], 'x'))('zookeeper')
const anyVersion = -1
const persistent = 0
const sessionEvent = -1

await play(async (address) => {
  const client = new ZooKeeper({
    connect: address,
    timeout: 30_000,
    debug_level: 1,
    // This client takes ten partial reads in a row for a dead server; under load there are more.
    response_counter_limit: 10_000,
  })
  const connected = new Promise((resolve) => client.once('connect', resolve))
  client.init({})
  await connected
  const answer = (done) => (rc, text) => done(rc === 0 ? undefined : new Error(text))
  const sent = (rc, done) => rc === 0 || done(new Error(`not sent: ${rc}`))
  return {
    get: (path, done) => sent(client.a_get(path, false, answer(done)), done),
    set: (path, data, done) => sent(client.a_set(path, data, anyVersion, answer(done)), done),
    create: (path, data, done) => sent(client.a_create(path, data, persistent, answer(done)), done),
    watch(path, onSet, onFired) {
      const hear = (type) => type !== sessionEvent && onFired()
      sent(client.aw_get(path, hear, answer(onSet)), onSet)
    },
  }
})
