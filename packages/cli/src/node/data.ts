import { CommandError } from '../framework/errors.ts'

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of UTF-8, or undefined where bytes are something else. */
export function textOf(data: Uint8Array): string | undefined {
  try {
    return strict.decode(data)
  } catch {
    return undefined
  }
}

/** Data in JSON: `data` where it is UTF-8, else `data64`; null where a node has none at all. */
export type DataJson = { readonly data: string | null } | { readonly data64: string }

export function dataJson(data: Uint8Array | null): DataJson {
  if (data === null) return { data: null }
  const text = textOf(data)
  return text === undefined ? { data64: Buffer.from(data).toString('base64') } : { data: text }
}

/** The other way. */
export function dataFromJson({
  data,
  data64,
}: {
  data?: unknown
  data64?: unknown
}): Uint8Array | null {
  if (typeof data64 === 'string') return new Uint8Array(Buffer.from(data64, 'base64'))
  if (typeof data === 'string') return new Uint8Array(Buffer.from(data))
  if (data === null || data === undefined) return null
  throw new CommandError(`data must be text or null, not ${JSON.stringify(data)}`)
}
