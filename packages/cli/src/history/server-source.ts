import type { ChangeJson, DifferenceJson, PastNodeJson } from '@zabra/protocol'
import { createInterface } from 'node:readline'
import { askApi, openAdmin, type ApiRequest } from '../ensemble/admin.ts'
import type { PastSource } from './source.ts'

const pageMax = 1000

/** The past as a server tells it. */
export function serverSource(server: Omit<ApiRequest, 'path'>): PastSource {
  const ask = <T>(path: string, parameters: object): Promise<T> =>
    askApi({ ...server, path: pathOf(path, parameters) })
  return {
    async *changes({ limit, kinds, isExact, isOldestFirst, wantsData, ...rest }) {
      let next: string | null | undefined
      for (let left = limit; left > 0 && next !== null;) {
        const page: { changes: ChangeJson[]; next: string | null } = await ask('changes', {
          ...rest,
          kinds: kinds?.join(','),
          exact: isExact,
          oldestFirst: isOldestFirst,
          data: wantsData,
          limit: Math.min(left, pageMax),
          next,
        })
        yield* page.changes.slice(0, left)
        left -= page.changes.length
        next = page.next
      }
    },
    node: (path, at) => ask('node', { path, at }),
    async data(path, at) {
      const response = await openAdmin({ ...server, path: pathOf('data', { path, at }) })
      const chunks: Uint8Array[] = []
      for await (const chunk of response as AsyncIterable<Uint8Array>) chunks.push(chunk)
      return Buffer.concat(chunks)
    },
    async *subtree(path, at, data) {
      const response = await openAdmin({ ...server, path: pathOf('subtree', { path, at, data }) })
      let isWhole = false
      for await (const line of createInterface({ input: response })) {
        const node = JSON.parse(line) as PastNodeJson | { readonly count: number }
        isWhole = 'count' in node
        if ('path' in node) yield node
      }
      if (!isWhole) throw new Error('the server broke off')
    },
    async *diff(path, from, to, data) {
      for (let offset = 0; ; offset += pageMax) {
        const page: { differences: DifferenceJson[]; total: number } = await ask('diff', {
          path,
          from,
          to,
          data,
          offset,
          limit: pageMax,
        })
        yield* page.differences
        if (offset + pageMax >= page.total) return
      }
    },
  }
}

function pathOf(path: string, parameters: object): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== false) query.set(name, String(value))
  }
  return `/api/v1/history/${path}?${query.toString()}`
}
