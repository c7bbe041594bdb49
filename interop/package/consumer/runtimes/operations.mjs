// A program that works with nodes, in plain JavaScript, for Node, Bun and Deno.
import { inspect } from 'node:util'
import { acl, CodecError, connect, isRefusal, json, text, TimeoutError } from '@zabra/client'
import { expect, setting } from './setting.mjs'

const { servers } = setting
const client = await connect(servers)
await client.ensure('/')

const { path } = await client.create('/jobs/job-', 'work', { sequential: true, parents: true })
expect(path === '/jobs/job-0000000000', 'a sequential node and its parent')
const { data, stat } = await client.get(path, { codec: text })
expect(data === 'work' && typeof stat.czxid === 'bigint' && stat.version === 0, 'data and stat')
await client.put('/settings', { limit: 3 }, { codec: json() })
expect((await client.getJson('/settings')).data.limit === 3, 'a value as JSON')
expect((await client.find('/absent')) === undefined, 'a node that does not exist')

const refusal = await client.set(path, 'x', { ifVersion: 7 }).catch((error) => error)
expect(isRefusal(refusal, 'badVersion') && refusal.path === path, 'a refusal')
expect(refusal instanceof Error && /badVersion/.test(refusal.stack), 'the stack of a refusal')
await client.set('/settings', 'not JSON')
const unreadable = await client.getJson('/settings').catch((error) => error)
expect(unreadable instanceof CodecError, 'data that the codec does not accept')

const [made, changed] = await client.transaction().create('/t', '1').set('/t', '2').commit()
expect(made.path === '/t' && changed.version === 1, 'a transaction')
const failed = await client
  .transaction()
  .delete('/t')
  .check('/absent')
  .commit()
  .catch((e) => e)
expect(failed.index === 1 && (await client.exists('/t')) !== undefined, 'a refused transaction')

const large = new Uint8Array(1_000_000).fill(7)
await client.put('/large', large)
expect(Buffer.compare((await client.get('/large')).data, large) === 0, 'a megabyte')
const many = Array.from({ length: 2000 }, (_, i) => client.set('/t', String(i)))
const versions = (await Promise.all(many)).map(({ version }) => version)
expect(
  versions.every((version, i) => version === i + 2),
  'two thousand writes on their way',
)
let count = 0
for (; count < 500; count++) await client.exists('/t')
expect(client.stats().operations.exists.count >= count, 'reads one after the other, counted')

await client.addAuth('digest', 'ann:s3cret')
await client.create('/private', 'x', { acl: acl.digest('ann', 's3cret') })
const other = await connect(servers)
expect(isRefusal(await other.get('/private').catch((e) => e), 'noAuth'), 'an ACL')
await other.addAuth('digest', 'ann:s3cret')
await other.get('/private')
await other.close()

const password = Buffer.from(client.session.password).toString('hex')
for (const shown of [
  inspect(client, { depth: 9 }),
  JSON.stringify(client),
  setting.shown(client),
]) {
  const isTold = [password, 's3cret', 'password'].some((secret) => shown.includes(secret))
  expect(!isTold, `no secrets in ${shown}`)
}

const proven = await connect(servers, { sasl: { username: 'bob', password: 'secret' } })
expect(
  (await proven.whoAmI()).some(({ user }) => user === 'bob'),
  'SASL',
)
await proven.close()

const nowhere = await connect('127.0.0.1:1', { timeoutMs: 500 }).catch((error) => error)
expect(nowhere instanceof TimeoutError, 'a deadline')
expect(/ECONNREFUSED|refused/i.test(nowhere.message), `why it cannot connect: ${nowhere.message}`)
await client.close()
expect(client.state.name === 'closed', 'the end')
console.log('all well')
