// Clients do not keep a program alive that has nothing else to do: for Node, Bun and Deno.
import { connect } from '@zabra/client'
import { setting } from './setting.mjs'

const wait = setTimeout(() => {}, 20_000)
for (const keepAlive of ['loop', 'worker']) {
  const client = await connect(setting.servers, { keepAlive, unref: true })
  await client.exists('/')
}
clearTimeout(wait)
console.log('all well')
