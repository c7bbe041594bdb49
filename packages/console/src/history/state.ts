/** A znode as it was at one moment, with its data. */
import type { DataJson } from '@zabra/protocol/http-api'
import { get, getData, type AclEntry } from '../api.ts'
import { identityText, lastingText, permsText } from '../format.ts'
import { nodeAt, type PastNode } from './past.ts'

export interface State {
  readonly node: PastNode
  readonly bytes: Uint8Array
}

type NodeWithData = PastNode & DataJson

export async function stateAt(path: string, at: string): Promise<State> {
  const [node, { bytes }] = await Promise.all([nodeAt(path, at), getData({ path, at })])
  return { node, bytes }
}

/** A znode right before and right after a transaction. */
export async function statesAround(
  path: string,
  zxid: string,
): Promise<{ readonly before: State | null; readonly after: State | null }> {
  const found = await get<{ before: NodeWithData | null; after: NodeWithData | null }>(
    '/history/change',
    { path, zxid },
  )
  return { before: stateOf(found.before), after: stateOf(found.after) }
}

function stateOf(node: NodeWithData | null): State | null {
  return node === null ? null : { node, bytes: bytesOf(node) }
}

function bytesOf({ data, encoding }: NodeWithData): Uint8Array {
  if (data === null) return new Uint8Array(0)
  if (encoding === 'utf8') return new TextEncoder().encode(data)
  return Uint8Array.from(atob(data), (char) => char.charCodeAt(0))
}

export function isSameData(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}

/** An ACL in words, a line for each entry. */
export function aclLines(acl: readonly AclEntry[] | undefined): readonly string[] {
  return (acl ?? []).map((entry) => `${identityText(entry)} may ${permsText(entry.perms)}`)
}

/** Differences besides the data and the ACL. */
export function factsChanged(before: PastNode, after: PastNode): readonly string[] {
  const kindOf = ({ kind, ttlMs }: PastNode): string =>
    ttlMs === null ? kind : `${kind} of ${lastingText(ttlMs)}`
  return [
    ...(before.czxid === after.czxid
      ? []
      : ['It is another znode of the same name: it was deleted and created again.']),
    ...(kindOf(before) === kindOf(after)
      ? []
      : [`Its kind was ${kindOf(before)}, and is ${kindOf(after)}.`]),
    ...(before.ephemeralOwner === after.ephemeralOwner ||
    before.ephemeralOwner === null ||
    after.ephemeralOwner === null
      ? []
      : [`Its session was ${before.ephemeralOwner}, and is ${after.ephemeralOwner}.`]),
  ]
}
