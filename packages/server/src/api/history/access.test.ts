/** The past hides from a caller what the client port hides now, and what it hid then. */
import type { Acl } from '@zabra/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { DescribedApi } from '../../../test/support/described-api.ts'
import { openAcl, RawClient } from '../../../test/support/raw-client.ts'
import { digestOf } from '../../auth/authenticator.ts'
import { startServer } from '../../embedded.ts'

const hex = (zxid: bigint): string => `0x${zxid.toString(16)}`
const users = [undefined, 'ann:1', 'bob:2'] as const
const who = {
  everybody: { scheme: 'world', id: 'anyone' },
  ann: { scheme: 'digest', id: digestOf('ann:1') },
  here: { scheme: 'ip', id: '127.0.0.1' },
  elsewhere: { scheme: 'ip', id: '10.0.0.0/8' },
}
/** Read alone, everything but read, write alone, and everything. */
const permissions = [1, 30, 2, 31]
/** The ACL of the znode at its creation, and its later changes. */
const cases = ['unchanged', 'closed', 'opened', 'deleted'] as const

test('every route of history gives the answer that the client port gave then and gives now', async () => {
  const server = await startServer({
    config: {
      'admin.enableServer': 'true',
      'admin.serverPort': 0,
      'DigestAuthenticationProvider.superDigest': digestOf('super:x'),
    },
  })
  onTestFinished(() => server.stop())
  const connect = async (user: string | undefined): Promise<RawClient> => {
    const client = await RawClient.connect(server.clientPort)
    onTestFinished(() => client.close())
    if (user !== undefined) {
      await client.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from(user) })
    }
    return client
  }
  const root = await connect('super:x')
  let made = 0
  let allowed = 0
  let compared = 0
  for (const user of users) {
    const client = await connect(user)
    const api = new DescribedApi(
      server,
      user === undefined ? {} : { Authorization: `digest ${user}` },
    )
    /** Whether the client port lets the user read. */
    const mayRead = async (path: string): Promise<boolean> =>
      (await client.call('getData', { path, watch: false })).err === 0
    for (const entry of Object.values(who).flatMap((id): Acl[] =>
      permissions.map((perms) => ({ perms, id })),
    )) {
      for (const each of cases) {
        const path = `/n${made++}`
        const first = each === 'closed' ? openAcl : [entry]
        const { zxid } = await root.call('create', { path, data: null, acl: first, flags: 0 })
        const might = await mayRead(path)
        if (each === 'closed') await root.must('setACL', { path, acl: [entry], version: -1 })
        if (each === 'opened') await root.must('setACL', { path, acl: openAcl, version: -1 })
        const may = await mayRead(path)
        if (each === 'deleted') await root.must('delete', { path, version: -1 })
        // Of a deleted znode the ACL of its parent decides, which is open.
        const expected = might && (each === 'deleted' || may)
        const at = hex(zxid)
        const status = async (route: string, parameters: object): Promise<boolean> => {
          const response = await api.raw(route, parameters)
          await response.arrayBuffer()
          expect([200, 403]).toContain(response.status)
          return response.status === 200
        }
        const isListed = async (route: string, parameters: object, name: string) => {
          const { body } = await api.get<Record<string, readonly unknown[]>>(route, parameters)
          return body[name]!.length > 0
        }
        const answers = {
          node: await status('/history/node', { path, at }),
          data: await status('/history/data', { path, at }),
          children: await status('/history/children', { path, at }),
          subtree: await status('/history/subtree', { path, at }),
          change: await status('/history/change', { path, zxid: at }),
          changes: await isListed(
            '/history/changes',
            { path, exact: true, from: at, to: at },
            'changes',
          ),
          diff: await isListed(
            '/history/diff',
            { path, from: hex(zxid - 1n), to: at },
            'differences',
          ),
        }
        for (const [route, answer] of Object.entries(answers)) {
          compared++
          if (answer) allowed++
          expect(answer, `${route} of ${user}: ${each} ${JSON.stringify(entry)}`).toBe(expected)
        }
      }
    }
  }
  expect(compared).toBe(3 * 16 * 4 * 7)
  expect(allowed).toBeGreaterThan(200)
  expect(allowed).toBeLessThan(compared - 200)
}, 60_000)
