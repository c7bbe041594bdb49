import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { startServer } from '../src/embedded.ts'
import { RawClient } from './support/raw-client.ts'

test('a request is checked with the identities that its connection had when it was sent', async () => {
  const server = await startServer()
  try {
    const client = await RawClient.connect(server.clientPort)
    const id = `bob:${createHash('sha1').update('bob:pw').digest('base64')}`
    const acl = [{ perms: 31, id: { scheme: 'digest', id } }]
    await client.must('create', { path: '/secret', data: null, acl, flags: 0 })
    const read = { path: '/secret', watch: false }
    // All in one packet: the first read waits behind the write, and auth overtakes it.
    client.socket.cork()
    const write = client.create('/other')
    const before = client.call('getData', read)
    const auth = client.call('auth', { type: 0, scheme: 'digest', auth: Buffer.from('bob:pw') })
    const after = client.call('getData', read)
    client.socket.uncork()
    await Promise.all([write, auth])
    expect((await before).err).toBe(-102)
    expect((await after).err).toBe(0)
    await client.close()
  } finally {
    await server.stop()
  }
})
