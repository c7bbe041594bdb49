import type { Acl, Stat } from '@zabra/protocol'
import type { RawClient } from '../../packages/server/test/support/raw-client.ts'

/** Everything that clients can see of a node, in a form that is easy to compare and print. */
export interface Node {
  readonly data: string
  readonly acl: string
  readonly stat: string
}
export type Tree = ReadonlyMap<string, Node>

const shownMax = 60

/** Every node; the client must be allowed to read them all. */
export async function readTree(client: RawClient): Promise<Tree> {
  const tree = new Map<string, Node>()
  let level = ['/']
  while (level.length > 0) {
    const below = await Promise.all(level.map((path) => readNode(client, path, tree)))
    level = below.flat()
  }
  return tree
}

async function readNode(
  client: RawClient,
  path: string,
  tree: Map<string, Node>,
): Promise<string[]> {
  const [{ data, stat }, { acl }, { children }] = await Promise.all([
    client.must('getData', { path, watch: false }),
    client.must('getACL', { path }),
    client.must('getChildren', { path, watch: false }),
  ])
  tree.set(path, { data: showData(data), acl: showAcl(acl), stat: showStat(stat) })
  return children.map((name) => `${path === '/' ? '' : path}/${name}`)
}

/** The first differences, in words; empty if the trees are equal. */
export function differences(expected: Tree, found: Tree): string[] {
  const sentences: string[] = []
  for (const [path, node] of expected) {
    const other = found.get(path)
    if (other === undefined) {
      sentences.push(`${path} is missing`)
      continue
    }
    for (const field of ['data', 'acl', 'stat'] as const) {
      if (node[field] === other[field]) continue
      sentences.push(`${path} has ${field} ${cut(other[field])}, expected ${cut(node[field])}`)
    }
  }
  for (const path of found.keys()) if (!expected.has(path)) sentences.push(`${path} is new`)
  return sentences
}

function cut(text: string): string {
  return text.length <= shownMax * 4 ? text : `${text.slice(0, shownMax)}... (${text.length})`
}

const showData = (data: Uint8Array | null): string =>
  data === null ? 'null' : `'${Buffer.from(data).toString('latin1')}'`

const showAcl = (acl: readonly Acl[]): string =>
  acl.map(({ perms, id }) => `${id.scheme}:${id.id}:${perms}`).join(' ')

const showStat = (stat: Stat): string =>
  Object.entries<bigint | number>({ ...stat })
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
