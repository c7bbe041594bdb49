import type { ChangeJson, DifferenceJson, PastNodeJson } from '@zabra/protocol'
import type { ConnectionSettings } from '../connection/settings.ts'
import { adminBases } from '../ensemble/admin.ts'
import type { SourceValues } from './options.ts'

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
