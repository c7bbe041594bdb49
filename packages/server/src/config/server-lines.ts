import { parseServerSpec, type Parsed, type ServerSpec } from '@zabra/core'

export type { Role } from '@zabra/core'

/** One member, as its `server.N` line describes it. */
export interface EnsembleServer extends ServerSpec {
  readonly id: number
}

/** Reads the text of a `server.N` line. */
export function parseServerLine(id: number, text: string): Parsed<EnsembleServer> {
  const parsed = parseServerSpec(text)
  return 'problem' in parsed ? parsed : { value: { id, ...parsed.value } }
}
