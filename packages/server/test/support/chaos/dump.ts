import { errorCodes, type Stat } from '@zabra/protocol'
import { textOf, type RawClient } from '../raw-client.ts'

export interface DumpedNode {
  readonly data: string
  readonly stat: Stat
}

/** Each server is configured with other ports, and shows them. */
const ignored = new Set(['/zookeeper/config'])
const inFlightMax = 200

/** All nodes of a server, by path. */
export async function dump(client: RawClient): Promise<Map<string, DumpedNode>> {
  const nodes = new Map<string, DumpedNode>()
  let level = ['/']
  while (level.length > 0) {
    const next: string[] = []
    for (let i = 0; i < level.length; i += inFlightMax) {
      await Promise.all(
        level.slice(i, i + inFlightMax).map(async (path) => {
          const [node, list] = await Promise.all([
            client.call('getData', { path, watch: false }),
            client.call('getChildren', { path, watch: false }),
          ])
          if (node.err === errorCodes.noNode || node.response === undefined) return
          if (ignored.has(path)) return
          const { data, stat } = node.response
          nodes.set(path, { data: textOf(data) ?? '', stat })
          const prefix = path === '/' ? '' : path
          for (const name of list.response?.children ?? []) next.push(`${prefix}/${name}`)
        }),
      )
    }
    level = next
  }
  return nodes
}

/** The first few differences between two trees, in words. */
export function differences(
  left: ReadonlyMap<string, DumpedNode>,
  right: ReadonlyMap<string, DumpedNode>,
): string[] {
  const found: string[] = []
  for (const [path, a] of left) {
    const b = right.get(path)
    const before = show(a)
    const after = b === undefined ? 'missing' : show(b)
    if (before !== after) found.push(`${path}: ${before} / ${after}`)
  }
  for (const [path, b] of right) if (!left.has(path)) found.push(`${path}: missing / ${show(b)}`)
  return found.slice(0, 8)
}

function show({ data, stat }: DumpedNode): string {
  const fields = Object.entries(stat).map(([key, value]) =>
    typeof value === 'bigint' ? `${key}=0x${value.toString(16)}` : `${key}=${String(value)}`,
  )
  return `${data.slice(0, 40)} ${fields.join(' ')}`
}
