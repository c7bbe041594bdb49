// TLS, with certificates of both sides: for Node, Bun and Deno.
import { copyFileSync, writeFileSync } from 'node:fs'
import { connect } from '@zabra/client'
import { expect, nextState, please, setting } from './setting.mjs'

const { secure, certificates } = setting
const caFile = `${certificates}/ca.pem`
const keyFile = `${certificates}/client-ann.pem`
const files = { caFile, certFile: keyFile, keyFile }

const client = await connect(secure, { tls: files, sessionTimeoutMs: 4000 })
await client.ensure('/')
await client.put('/secret', new Uint8Array(300_000).fill(7))
const { data } = await client.get('/secret')
expect(data.length === 300_000 && data.every((byte) => byte === 7), 'data over TLS')
expect(
  (await client.whoAmI()).some(({ scheme }) => scheme === 'x509'),
  'an identity',
)
const many = Array.from({ length: 500 }, () => client.exists('/secret'))
expect((await Promise.all(many)).length === 500, 'many requests at once')

const suspended = nextState(client, 'suspended')
await please('cut-secure')
await suspended
const back = nextState(client, 'connected')
await please('heal-secure')
expect((await back).resumed, 'the same session over another TLS connection')
await client.close()

const unknown = await connect(secure, { tls: true, timeoutMs: 1000 }).catch((error) => error)
expect(/certificate|issuer|verif/i.test(unknown.message), `an unknown authority: ${unknown}`)
const elsewhere = secure.replaceAll('localhost', '127.0.0.1')
const wrong = await connect(elsewhere, { tls: files, timeoutMs: 1000 }).catch((error) => error)
expect(/altname|not valid for/i.test(wrong.message), `another name: ${wrong}`)

// Files are read for each connection.
const renewed = `${setting.folder}/ca.pem`
writeFileSync(renewed, '')
const late = connect(secure, { tls: { ...files, caFile: renewed } })
late.catch(() => {})
await new Promise((resolve) => setTimeout(resolve, 300))
copyFileSync(caFile, renewed)
await (await late).close()
console.log('all well')
