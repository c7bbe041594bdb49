/**
 * The attacks that a server must withstand. `scale` 1 is the full attack; `npm test` runs a smaller
 * one.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { addWatchModes, type Acl } from '@zabra/protocol'
import { many, type Attack, type Target } from './attack.ts'
import { Attacker } from './attacker.ts'
import { onHttp } from './on-http.ts'
import { onServers } from './on-servers.ts'
import { onTls } from './on-tls.ts'

const openAcl: Acl[] = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
const megabyte = Buffer.alloc(1_000_000, 'x')
const digest = (auth: string) => ({ type: 0, scheme: 'digest', auth: Buffer.from(auth) })
const node = (path: string, data: Uint8Array | null = null, flags = 0) => ({
  path,
  data,
  acl: openAcl,
  flags,
})
/**
 * How long a client that does not read stays connected, so that the server's buffers can be
 * measured.
 */
const staysMs = 1500

async function withClients(
  port: number,
  count: number,
  work: (client: Attacker, i: number) => Promise<void>,
): Promise<void> {
  const clients: Attacker[] = []
  for (let i = 0; i < count; i++) clients.push(await Attacker.open(port))
  try {
    await Promise.all(clients.map(work))
  } finally {
    for (const client of clients) client.destroy()
  }
}

const withClient = (port: number, work: (client: Attacker) => Promise<void>): Promise<void> =>
  withClients(port, 1, work)

async function createLarge({ port }: Target): Promise<void> {
  await withClient(
    port,
    async (client) => void (await client.call('create', node('/large', megabyte))),
  )
}

const onClients: readonly Attack[] = [
  {
    name: 'multiRead of 5,000 reads of 1 MB',
    isInTests: true,
    limits: ['multi_read_bytes'],
    prepare: createLarge,
    run: ({ port }, scale) =>
      withClient(port, async (client) => {
        const reads = many(5000, () => ({
          type: 4 as const,
          request: { path: '/large', watch: false },
        }))
        for (let i = 0; i < 50 * scale; i++) await client.call('multiRead', reads)
      }),
  },
  {
    name: 'one write, then 900 reads of 1 MB, nothing read',
    isInTests: true,
    limits: ['unread_replies'],
    prepare: createLarge,
    run: ({ port }, scale) =>
      withClients(port, 8 * scale, async (client) => {
        client.deafen()
        await client.write(client.encode(1, 'setData', { path: '/', data: null, version: -1 }))
        await client.repeat(900, 'getData', () => ({ path: '/large', watch: false }))
        await delay(staysMs)
      }),
  },
  {
    name: 'writes between reads of 1 MB, nothing read',
    limits: ['unread_bytes'],
    prepare: createLarge,
    run: ({ port }, scale) =>
      withClients(port, 8 * scale, async (client) => {
        client.deafen()
        const write = client.encode(1, 'setData', { path: '/', data: null, version: -1 })
        const read = client.encode(2, 'getData', { path: '/large', watch: false })
        // In one piece, because the server stops reading once replies are waiting.
        const round = [write, ...many(10, () => read)]
        await client.write(Buffer.concat(many(30, () => round).flat()))
        await delay(staysMs)
      }),
  },
  {
    name: '40,000 different identities',
    isInTests: true,
    limits: ['identities'],
    run: ({ port }, scale) =>
      withClients(port, 4, async (client) => {
        await client.repeat(40_000 * scale, 'auth', (i) => digest(`user-${i}:secret`))
        await client.call('setData', { path: '/', data: null, version: -1 })
      }),
  },
  {
    name: 'checks against an ACL of 20,000 entries',
    isInTests: true,
    async prepare({ port }) {
      await withClient(port, async (client) => {
        const acl = many(20_000, (i) => ({ perms: 1, id: { scheme: 'digest', id: `u${i}:h` } }))
        await client.call('create', { path: '/guarded', data: null, acl, flags: 0 })
      })
    },
    run: ({ port }, scale) =>
      withClients(port, 4, async (client) => {
        for (let i = 0; i < 200; i++) await client.call('auth', digest(`attacker-${i}:x`))
        const count = Math.round(20_000 * scale)
        await client.repeat(count, 'getData', () => ({ path: '/guarded', watch: false }))
        await client.until(200 + count)
      }),
  },
  {
    name: 'getEphemerals that finds nothing among 100,000',
    isInTests: true,
    run: ({ port }, scale) =>
      withClient(port, async (client) => {
        const count = Math.round(100_000 * scale)
        await client.repeat(count, 'create', (i) => node(`/e${i}`, null, 1))
        await client.until(count)
        await client.repeat(3000, 'getEphemerals', () => ({ prefixPath: '/none' }))
        await client.until(count + 3000)
      }),
  },
  {
    name: 'recursive watches on a path of 3,000 levels',
    async prepare({ port }, scale) {
      await withClient(port, async (client) => {
        const levels = Math.round(3000 * Math.sqrt(scale))
        await client.repeat(levels, 'create', (i) => node('/d'.repeat(i + 1)))
        await client.until(levels)
      })
    },
    run: ({ port }, scale) =>
      withClients(port, 2, async (client) => {
        const levels = Math.round(3000 * Math.sqrt(scale))
        const mode = addWatchModes.persistentRecursive
        await client.repeat(levels, 'addWatch', (i) => ({ path: '/d'.repeat(i + 1), mode }))
        await client.until(levels)
        const path = '/d'.repeat(levels)
        const writes = Math.round(2000 * scale)
        await client.repeat(writes, 'setData', () => ({ path, data: null, version: -1 }))
        await client.until(levels + writes)
      }),
  },
  {
    name: '50 clients with a recursive watch that read nothing',
    cfg: 'limits.unreadBytes=268435456',
    limits: ['unread_bytes_total'],
    run: ({ port }, scale) =>
      withClients(port, 50, async (client, i) => {
        if (i > 0) {
          await client.call('addWatch', { path: '/', mode: addWatchModes.persistentRecursive })
          client.deafen()
          await delay(4000)
          return
        }
        const path = `/${'n'.repeat(8000)}`
        await client.call('create', node(path))
        await delay(500)
        // 49 times 8 kB each.
        const writes = Math.round(5000 * scale)
        await client.repeat(writes, 'setData', () => ({ path, data: null, version: -1 }))
        await client.until(writes + 1)
      }),
  },
  {
    name: 'a million watches on nodes that do not exist',
    limits: ['watches_per_session'],
    run: ({ port }, scale) =>
      withClients(port, 4, async (client, own) => {
        const count = Math.round(250_000 * Math.max(scale, 0.9))
        await client.repeat(count, 'exists', (i) => ({ path: `/w${own}-${i}`, watch: true }))
        await client.until(count)
      }),
  },
  {
    name: 'a million requests, nothing read',
    limits: ['unread_replies'],
    run: ({ port }, scale) =>
      withClients(port, 10, async (client) => {
        client.deafen()
        const sent = client.repeat(100_000 * scale, 'exists', () => ({ path: '/', watch: false }))
        await Promise.race([sent, delay(4000)])
      }),
  },
  {
    name: 'a list of 100,000 children, asked for and not read',
    limits: ['unread_replies'],
    async prepare({ port }, scale) {
      await withClient(port, async (client) => {
        const count = Math.round(100_000 * scale)
        await client.call('create', node('/many'))
        await client.repeat(count, 'create', (i) => node(`/many/child-${i}`))
        await client.until(count + 1)
      })
    },
    run: ({ port }) =>
      withClients(port, 20, async (client) => {
        client.deafen()
        await client.repeat(1000, 'getChildren', () => ({ path: '/many', watch: false }))
        await delay(staysMs)
      }),
  },
  {
    name: 'multis of 25,000 operations',
    limits: ['multi_operations'],
    run: ({ port }, scale) =>
      withClient(port, async (client) => {
        const checks = many(25_000, () => ({
          type: 13 as const,
          request: { path: '/', version: -1 },
        }))
        const creates = many(15_000, (i) => ({ type: 1 as const, request: node(`/m${i}`) }))
        const deletes = many(15_000, (i) => ({
          type: 2 as const,
          request: { path: `/m${i}`, version: -1 },
        }))
        for (let i = 0; i < 10 * scale; i++) {
          await client.call('multi', checks)
          await client.call('multi', creates)
          await client.call('multi', deletes)
        }
      }),
  },
  {
    name: 'writes of 1 MB, as many as are taken',
    prepare: createLarge,
    run: ({ port }, scale) =>
      withClients(port, 8, async (client) => {
        const count = Math.round(50 * scale)
        await client.repeat(count, 'setData', () => ({
          path: '/large',
          data: megabyte,
          version: -1,
        }))
        await client.until(count)
      }),
  },
  {
    name: '20,000 connections where 60 are allowed',
    isInTests: true,
    cfg: 'maxClientCnxns=60',
    limits: ['connections_per_address'],
    run: async ({ port }, scale) => {
      let before: Attacker[] = []
      for (let i = 0; i < 200 * scale; i++) {
        const clients = await Promise.all(many(100, () => Attacker.silent(port)))
        for (const client of before) client.destroy()
        before = clients
      }
    },
  },
  {
    name: '1,000 connections that say nothing, or a byte a second',
    run: async ({ port }, scale) => {
      const clients = await Promise.all(many(1000 * scale, () => Attacker.silent(port)))
      for (let second = 0; second < 3; second++) {
        for (const [i, client] of clients.entries()) {
          if (i % 2 === 0 && !client.isClosed) client.socket.write(Uint8Array.of(0))
        }
        await delay(1000)
      }
      for (const client of clients) client.destroy()
    },
  },
  {
    name: 'sessions opened as fast as possible',
    isInTests: true,
    cfg: 'connection_throttle_tokens=100\nconnection_throttle_fill_time=100',
    limits: ['session_rate'],
    run: async ({ port }, scale) => {
      for (let i = 0; i < 40 * scale; i++) {
        const clients = await Promise.all(many(100, () => Attacker.open(port, 4000)))
        for (const client of clients) client.destroy()
      }
    },
  },
  {
    name: 'guesses of the password of the super user',
    isInTests: true,
    cfg: 'DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU=',
    limits: ['password_guesses'],
    run: ({ port }, scale) =>
      withClients(port, 20, async (client, own) => {
        const sent = client.repeat(2000 * scale, 'auth', (i) => digest(`super:${own}-${i}`))
        await Promise.race([sent, delay(3000)])
      }),
  },
  {
    name: '10,000 sessions that do nothing',
    run: async ({ port }, scale) => {
      const clients: Attacker[] = []
      for (let i = 0; i < 100 * scale; i++) {
        clients.push(...(await Promise.all(many(100, () => Attacker.open(port, 40_000)))))
      }
      await delay(staysMs)
      for (const client of clients) client.destroy()
    },
  },
]

export const attacks: readonly Attack[] = [...onClients, ...onTls, ...onHttp, ...onServers]
