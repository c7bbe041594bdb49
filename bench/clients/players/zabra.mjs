import { connect } from '@zabra/client'
import { play } from './play.mjs'

await play(async (address) => {
  const client = await connect(address)
  return {
    get: (path, done) => settled(client.get(path), done),
    set: (path, data, done) => settled(client.set(path, data), done),
    create: (path, data, done) => settled(client.create(path, data), done),
    watch: (path, onSet, onFired) => settled(client.get(path, { watch: onFired }), onSet),
  }
})

function settled(promise, done) {
  promise.then(() => done(), done)
}
