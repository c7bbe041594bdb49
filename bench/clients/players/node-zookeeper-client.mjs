import { createRequire } from 'node:module'
import { join } from 'node:path'
import { play } from './play.mjs'

const library = createRequire(join(process.argv[2], 'x'))('node-zookeeper-client')

await play(async (address) => {
  const client = library.createClient(address)
  const connected = new Promise((resolve) => client.once('connected', resolve))
  client.connect()
  await connected
  return {
    get: (path, done) => client.getData(path, done),
    set: (path, data, done) => client.setData(path, data, done),
    create: (path, data, done) => client.create(path, data, done),
    watch: (path, onSet, onFired) => client.getData(path, onFired, onSet),
  }
})
