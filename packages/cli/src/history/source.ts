import type { ConnectionSettings } from '../connection/settings.ts'
import { adminBases } from '../ensemble/admin.ts'
import type { SourceValues } from './options.ts'

export interface SessionClientJson {
  readonly address: string
  readonly identities: readonly string[]
  /** Its requests came by the HTTP API. */
  readonly isOfApi: boolean
}

/** A change, as the HTTP API describes it. */
export interface ChangeJson {
  readonly zxid: string
  readonly time: string
  readonly kind: string
  readonly part: number
  readonly parts: number
  readonly path: string | null
  readonly version: number | null
  readonly dataLength: number | null
  readonly nodeKind: string | null
  readonly ttlMs: number | null
  readonly cause: string | null
  readonly timeoutMs: number | null
  /** Null where the caller may not see it. */
  readonly session: string | null
  /** The client of the session, as far as the server knows it; files do not. */
  readonly client: SessionClientJson | null
  readonly data?: string | null
  readonly encoding?: 'utf8' | 'base64' | null
}

/** A znode as it was. */
export interface PastNodeJson {
  readonly path: string
  readonly name: string
  readonly kind: string
  readonly czxid: string
  readonly mzxid: string
  readonly pzxid: string
  readonly ctime: string
  readonly mtime: string
  readonly version: number
  readonly cversion: number
  readonly aversion: number
  readonly ephemeralOwner: string | null
  readonly ttlMs: number | null
  readonly dataLength: number
  readonly numChildren: number
  readonly acl?: readonly {
    readonly perms: string
    readonly scheme: string
    readonly id: string
  }[]
  readonly data?: string | null
  readonly encoding?: 'utf8' | 'base64' | null
}

export interface DifferenceJson {
  readonly path: string
  readonly before: PastNodeJson | null
  readonly after: PastNodeJson | null
  readonly isDataChanged: boolean
  readonly isAclChanged: boolean
  readonly isRecreated: boolean
}

export interface ChangesAsked {
  readonly path?: string | undefined
  readonly isExact?: boolean | undefined
  readonly session?: string | undefined
  readonly kinds?: readonly string[] | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly isOldestFirst?: boolean | undefined
  readonly wantsData?: boolean | undefined
  readonly limit: number
}

/** The past of a server, or of files. */
export interface PastSource {
  changes(asked: ChangesAsked): AsyncIterable<ChangeJson>
  node(path: string, at: string): Promise<{ readonly zxid: string; readonly node: PastNodeJson }>
  data(path: string, at: string): Promise<Uint8Array>
  /** A znode and all below it, parents first. */
  subtree(path: string, at: string, wantsData: boolean): AsyncIterable<PastNodeJson>
  diff(path: string, from: string, to: string, wantsData: boolean): AsyncIterable<DifferenceJson>
}

export async function openSource(
  values: SourceValues,
  settings: () => ConnectionSettings,
  signal: AbortSignal,
): Promise<PastSource> {
  if (values.dataDir !== undefined) {
    const { filesSource } = await import('./files-source.ts')
    return filesSource(values.dataDir, values.dataLogDir, signal)
  }
  const { serverSource } = await import('./server-source.ts')
  const connection = settings()
  const named = values.admin === undefined ? [] : [values.admin]
  const [base = ''] = await adminBases(connection, named, signal)
  return serverSource({ base, settings: connection, signal })
}
