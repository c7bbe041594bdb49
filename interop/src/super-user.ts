import { createHash } from 'node:crypto'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { readTree, type Tree } from '../exchange/tree.ts'

/** The argument of `addauth digest`. */
export const password = 'super:interop'
const digest = createHash('sha1').update(password).digest('base64')

/** The configuration line that lets `wholeTree` read everything. */
export const superUserCfg = `DigestAuthenticationProvider.superDigest=super:${digest}`

/** A client with all permissions. */
export async function connectAsSuper(port: number): Promise<RawClient> {
  const client = await RawClient.connect(port)
  await client.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from(password) })
  return client
}

/** Every node, regardless of ACLs, after a sync. */
export async function wholeTree(port: number): Promise<Tree> {
  const client = await connectAsSuper(port)
  await client.must('sync', { path: '/' })
  const tree = await readTree(client)
  await client.close()
  return tree
}
