import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFlags } from '@zabra/protocol'
import { openAcl, RawClient } from '../../packages/server/test/support/raw-client.ts'
import type { Apache } from '../src/apache.ts'
import { apacheCommand, zabraCommand, type ServerCommand } from '../src/commands.ts'
import { ManagedServer } from '../src/servers.ts'

/** Both servers do the same work; their audit logs must be equal. */
export async function compareAudits(apache: Apache): Promise<string[]> {
  const theirs = await auditOf(apacheCommand(apache), (server) => server.log)
  const ours = await auditOf(zabraCommand(), (server) =>
    readFileSync(join(server.dir, 'audit.log'), 'utf8'),
  )
  if (theirs.length === 0) return ['Apache has written no audit log']
  const count = Math.max(ours.length, theirs.length)
  return Array.from({ length: count }, (_, i) => [ours[i], theirs[i]])
    .filter(([own, other]) => own !== other)
    .map(([own, other]) => `zabra writes ${JSON.stringify(own)}, Apache ${JSON.stringify(other)}`)
}

async function auditOf(
  command: ServerCommand,
  read: (server: ManagedServer) => string,
): Promise<string[]> {
  const cfg = 'extendedTypesEnabled=true\naudit.file=audit.log\n4lw.commands.whitelist=*\n'
  const properties = [
    'zookeeper.audit.enable=true',
    'org.slf4j.simpleLogger.log.org.apache.zookeeper.audit=info',
  ]
  const server = new ManagedServer(command, { cfg, properties })
  try {
    await server.start()
    const sessions = [...(await work(server.port)), ...(await work(server.port))]
    await server.stop()
    return entriesOf(read(server), sessions)
  } finally {
    await server.dispose()
  }
}

/** The entries, with numbered sessions and sorted users. */
function entriesOf(log: string, sessions: readonly bigint[]): string[] {
  const entries = [...log.matchAll(/((?:session|user)=[^\n]*\tresult=\w+)/g)].map(
    ([, entry = '']) => entry,
  )
  const normal = entries.map((entry) => {
    const named = sessions.reduce(
      (text, id, i) => text.replace(`session=0x${id.toString(16)}\t`, `session=${i}\t`),
      entry,
    )
    return named.replace(
      /user=([^\t]*)/,
      (_, users: string) => `user=${users.split(',').toSorted().join(',')}`,
    )
  })
  return normal.map((entry, i) => {
    if (!isEphemeralsEnd(entry)) return entry
    // The ephemerals of a session are deleted in no defined order, without other entries in
    // between.
    let [first, last] = [i, i]
    while (first > 0 && isEphemeralsEnd(normal[first - 1]!)) first--
    while (last + 1 < normal.length && isEphemeralsEnd(normal[last + 1]!)) last++
    return normal.slice(first, last + 1).toSorted()[i - first]!
  })
}

function isEphemeralsEnd(entry: string): boolean {
  return entry.includes('ephemeralZNodeDeletionOnSessionCloseOrExpire')
}

/** Does the work; returns its sessions. */
async function work(port: number): Promise<bigint[]> {
  const client = await RawClient.connect(port)
  await client.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from('bob:pw') })
  const create = (path: string, flags = 0) =>
    ({ type: 1, request: { path, data: null, acl: openAcl, flags } }) as const
  await client.create('/a')
  for (const flags of [1, 2, 3]) await client.create('/a/n-', '', flags)
  await client.must('createContainer', {
    path: '/a/box',
    data: null,
    acl: openAcl,
    flags: createFlags.container,
  })
  await client.must('createTTL', {
    path: '/a/ttl',
    data: null,
    acl: openAcl,
    flags: 5,
    ttl: 60_000n,
  })
  await client.call('create', { path: '/a', data: null, acl: openAcl, flags: 0 })
  await client.call('create', { path: '/no/child', data: null, acl: openAcl, flags: 1 })
  await client.call('create', { path: '/b', data: null, acl: [], flags: 0 })
  await client.must('setData', { path: '/a', data: Buffer.from('x'), version: -1 })
  await client.call('setData', { path: '/a', data: null, version: 77 })
  await client.must('getData', { path: '/a', watch: false })
  const acl = [
    { perms: 31, id: { scheme: 'world', id: 'anyone' } },
    { perms: 5, id: { scheme: 'auth', id: '' } },
  ]
  await client.must('setACL', { path: '/a', acl, version: -1 })
  await client.call('setACL', { path: '/a', acl: [], version: -1 })
  await client.must('multi', [
    create('/m'),
    create('/m/q-', 2),
    { type: 13, request: { path: '/m', version: -1 } },
    { type: 5, request: { path: '/m', data: null, version: -1 } },
    { type: 2, request: { path: '/m/q-0000000000', version: -1 } },
    { type: 2, request: { path: '/m', version: -1 } },
  ])
  await client.must('multi', [create('/m2'), create('/a')])
  await client.call('reconfig', {
    joiningServers: null,
    leavingServers: null,
    newMembers: null,
    curConfigId: -1n,
  })
  await client.call('delete', { path: '/none', version: -1 })
  for (const path of ['/a/n-0000000001', '/a/box', '/a/ttl']) {
    await client.call('delete', { path, version: -1 })
  }
  const { sessionId } = client
  await client.close()
  const cleaner = await RawClient.connect(port)
  const { children } = await cleaner.must('getChildren', { path: '/a', watch: false })
  for (const name of children) await cleaner.must('delete', { path: `/a/${name}`, version: -1 })
  await cleaner.must('delete', { path: '/a', version: -1 })
  await cleaner.abandon()
  return [sessionId, cleaner.sessionId]
}
