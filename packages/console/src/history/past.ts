/** Requests about the past. */
import type { PastNodeJson } from '@zabra/protocol/http-api'
import { get, type Children } from '../api.ts'
import type { TreeSource } from '../tree-model.ts'

export interface Moment {
  readonly zxid: string
  readonly time: string
}

export interface Extent {
  readonly first: Moment | null
  readonly last: Moment | null
  readonly oldestTree: string | null
  readonly gaps: readonly { readonly after: string; readonly before: string }[]
  readonly bytes: number
  readonly retainBytes: number
  readonly retainMs: number
}

export type PastNode = PastNodeJson

export const extent = (): Promise<Extent> => get<Extent>('/history')

export async function nodeAt(path: string, at: string): Promise<PastNode> {
  return (await get<{ node: PastNode }>('/history/node', { path, at })).node
}

/** The transaction that a point stands for, found with a znode that existed then. */
export async function zxidAt(point: string, path: string): Promise<string> {
  return (await get<{ zxid: string }>('/history/node', { path, at: point })).zxid
}

/** The tree as it was. */
export function pastSource(at: string): TreeSource {
  return {
    children: (path, offset, limit) =>
      get<Children>('/history/children', { path, at, offset, limit }),
    node: (path) => nodeAt(path, at),
  }
}
