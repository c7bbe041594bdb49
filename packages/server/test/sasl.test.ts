import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { clientService, DigestMd5Client } from '../src/auth/digest-md5.ts'
import { startServer } from '../src/embedded.ts'
import type { RunningServer } from '../src/running/running-server.ts'
import { RawClient } from './support/raw-client.ts'

const folder = mkdtempSync(join(tmpdir(), 'zabra-sasl-'))
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const users = write('users', '# who may come\nbob = with spaces \nsuper=geheim\nzoë=pässwörd\n')
const jaas = write(
  'jaas.conf',
  `/* JAAS */ Server {
    org.apache.zookeeper.server.auth.DigestLoginModule required
    user_bob="with spaces " // the same
    user_super="from the file";
  };
  Client { com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true; };
`,
)
const provider = { 'authProvider.1': 'org.apache.zookeeper.server.auth.SASLAuthenticationProvider' }

let server: RunningServer | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function connect(config: Record<string, string>): Promise<RawClient> {
  server ??= await startServer({ config })
  return RawClient.connect(server.clientPort)
}

/** The error of the last reply; 0 if the client is authenticated. */
async function logIn(client: RawClient, username: string, password: string): Promise<number> {
  const own = new DigestMd5Client({ username, password }, clientService)
  const challenge = await client.call('sasl', { token: new Uint8Array(0) })
  if (challenge.err !== 0) return challenge.err
  const proof = await client.call('sasl', { token: own.answer(challenge.response!.token!) })
  if (proof.err === 0 && proof.response!.token !== null) own.answer(proof.response!.token!)
  return proof.err
}

async function identities(client: RawClient): Promise<string[]> {
  const { clientInfo } = await client.must('whoAmI', {})
  return (clientInfo ?? []).map(({ authScheme, user }) => `${authScheme}:${user}`)
}

test.each([
  ['bob', ' with spaces '],
  ['zoë', 'pässwörd'],
])('%s proves to know the password of a file of users', async (name, password) => {
  const client = await connect({ 'sasl.usersFile': users })
  expect(await logIn(client, name, password)).toBe(0)
  expect(await identities(client)).toEqual(['ip:127.0.0.1', `sasl:${name}`])
  await client.close()
})

test('a JAAS file works as well; Kerberos sections for other programs are ignored', async () => {
  const client = await connect({ 'java.security.auth.login.config': jaas })
  expect(await logIn(client, 'bob', 'with spaces ')).toBe(0)
  await client.close()
})

test('without the provider SASL authenticates, but satisfies no ACL', async () => {
  const client = await connect({ 'java.security.auth.login.config': jaas })
  const acl = [{ perms: 31, id: { scheme: 'sasl', id: 'bob' } }]
  const create = { path: '/a', data: null, acl, flags: 0 }
  expect((await client.call('create', create)).err).toBe(-114)
  await client.close()
})

test('an ACL lists SASL users; super matches all of them, a super user needs none', async () => {
  const config = {
    'java.security.auth.login.config': jaas,
    'SASLAuthenticationProvider.superPassword': 'other',
    'superUser.ops': 'bob',
    ...provider,
  }
  const open = await connect(config)
  const acl = [{ perms: 31, id: { scheme: 'sasl', id: 'alice' } }]
  await open.must('create', { path: '/alice', data: null, acl, flags: 0 })
  await open.must('create', {
    path: '/digest',
    data: null,
    acl: [{ perms: 31, id: { scheme: 'digest', id: 'x:y' } }],
    flags: 0,
  })
  const read = async (client: RawClient, path: string): Promise<number> =>
    (await client.call('getData', { path, watch: false })).err
  expect(await read(open, '/alice')).toBe(-102)
  const superMan = await connect(config)
  expect(await logIn(superMan, 'super', 'other')).toBe(0)
  expect([await read(superMan, '/alice'), await read(superMan, '/digest')]).toEqual([0, -102])
  const bob = await connect(config)
  expect(await logIn(bob, 'bob', 'with spaces ')).toBe(0)
  expect(await identities(bob)).toContain('sasl:bob')
  expect([await read(bob, '/alice'), await read(bob, '/digest')]).toEqual([0, 0])
  for (const id of ['a@b@c', 'a/b/c@d'])
    expect(
      (
        await open.call('create', {
          path: '/x',
          data: null,
          acl: [{ perms: 1, id: { scheme: 'sasl', id } }],
          flags: 0,
        })
      ).err,
    ).toBe(-114)
})

test.each([
  ['a wrong password', 'bob', 'no'],
  ['an unknown user', 'eve', 'with spaces '],
  ['a user with no password', '', ''],
])('%s costs the connection', async (_, name, password) => {
  const client = await connect({ 'sasl.usersFile': users })
  expect(await logIn(client, name, password)).toBe(-115)
  await client.ended
  expect(server!.peer.stats.authFailures).toBe(1)
})

test('a client that fails may stay, if that is allowed, and cannot try again', async () => {
  const client = await connect({ 'sasl.usersFile': users, allowSaslFailedClients: 'true' })
  expect(await logIn(client, 'bob', 'no')).toBe(0)
  expect(await identities(client)).toEqual(['ip:127.0.0.1'])
  await logIn(client, 'bob', ' with spaces ').catch(() => {})
  expect(await identities(client)).toEqual(['ip:127.0.0.1'])
  await client.close()
})

test('where SASL is required nothing else comes first, and a failure says so', async () => {
  const config = { 'sasl.usersFile': users, sessionRequireClientSASLAuth: 'true' }
  const silent = await connect(config)
  expect((await silent.call('exists', { path: '/', watch: false })).err).toBe(-124)
  await silent.ended
  const wrong = await connect(config)
  expect(await logIn(wrong, 'bob', 'no')).toBe(-124)
  await wrong.ended
  const right = await connect(config)
  expect(await logIn(right, 'bob', ' with spaces ')).toBe(0)
  await right.must('exists', { path: '/', watch: false })
  await right.close()
})

test('each of several schemes may be enough', async () => {
  const config = {
    'sasl.usersFile': users,
    'enforce.auth.enabled': 'true',
    'enforce.auth.schemes': 'sasl,digest',
  }
  const client = await connect(config)
  await client.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from('x:y') })
  await client.must('exists', { path: '/', watch: false })
  await client.close()
})

test.each([
  ['not a token', Buffer.from('rubbish')],
  ['a token too long', Buffer.alloc(10_000, 'a=b,')],
  ['an answer before the challenge', Buffer.from('username="bob"')],
])('%s is refused', async (_, token) => {
  const client = await connect({ 'sasl.usersFile': users })
  if (token.length !== 14) await client.must('sasl', { token: new Uint8Array(0) })
  expect((await client.call('sasl', { token })).err).toBe(-115)
  await client.ended
})

test.each([
  [
    { 'java.security.auth.login.config': jaas, 'sasl.serverconfig': 'Client' },
    /the section Client asks for Kerberos, which zabra does not offer/,
  ],
  [
    { 'java.security.auth.login.config': jaas, 'sasl.serverconfig': 'Other' },
    /there is no section Other/,
  ],
  [{ 'java.security.auth.login.config': '/nowhere' }, /there is no such file/],
  [
    { 'java.security.auth.login.config': write('bad', 'Server {\n x required a=;\n};') },
    /bad:2: expected a value, got ";"/,
  ],
  [
    { 'sasl.usersFile': write('worse', 'bob=1\nbob=2\nnobody') },
    /worse:2: the user bob has an earlier line[^]*worse:3: expected name=password/,
  ],
  [
    { 'sasl.usersFile': users, 'fips-mode': 'true' },
    /fips-mode: is true, which forbids DIGEST-MD5/,
  ],
])('%s keeps the server from starting', async (config, why) => {
  await expect(startServer({ config })).rejects.toThrow(why)
})
