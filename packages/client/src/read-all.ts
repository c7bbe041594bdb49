import { errorCodes, type MultiOp } from '@zabra/protocol'
import type { Data, MultiReply } from './calls/kinds.ts'
import { OperationError, refusalOf } from './errors.ts'
import type { Paths } from './paths.ts'
import { Stat } from './stat.ts'

/** One of several reads in one request. */
export type ReadQuery = { readonly get: string } | { readonly children: string }

/** Results in the order of the reads; undefined for missing nodes. */
export type ReadResults<Queries extends readonly ReadQuery[]> = {
  -readonly [Index in keyof Queries]: Queries[Index] extends { readonly get: string }
    ? Data | undefined
    : string[] | undefined
}

export function readOps(queries: readonly ReadQuery[], paths: Paths): MultiOp[] {
  return queries.map((query) => ({
    type: 'get' in query ? 4 : 8,
    request: { path: paths.toServer(pathOf(query)), watch: false },
  }))
}

/** Throws if a read was refused for another reason than a missing node. */
export function readValues<const Queries extends readonly ReadQuery[]>(
  queries: Queries,
  { results, zxid }: MultiReply,
): ReadResults<Queries> {
  const values = results.map((result, index) => {
    if ('type' in result) {
      const response = result.response as Data & { children?: string[] }
      return response.children ?? { data: response.data, stat: Stat.of(response.stat) }
    }
    if (result.err === errorCodes.noNode) return undefined
    throw new OperationError(refusalOf(result.err), { path: pathOf(queries[index]!), zxid })
  })
  return values as unknown as ReadResults<Queries>
}

function pathOf(query: ReadQuery): string {
  return 'get' in query ? query.get : query.children
}
