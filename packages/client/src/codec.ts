import { decodeText, encodeText } from '@zabra/protocol'
import { isExactly, markErrorKind } from './error-kinds.ts'
import { ZabraError, type ErrorDetails } from './errors.ts'

/** Converts values to the bytes of a node, and back. */
export interface Codec<T> {
  encode(value: T): Uint8Array
  decode(bytes: Uint8Array): T
}

/** The part of the Standard Schema (version 1) that is needed to validate a value. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: readonly unknown[] | undefined
}

/**
 * The data of a node, or a value to store, does not match its codec.
 *
 *     if (error instanceof CodecError) console.log(error.path, error.issues)
 */
export class CodecError extends ZabraError {
  static {
    markErrorKind(this, 'CodecError')
  }
  override readonly name = 'CodecError'
  readonly code = 'codec'
  readonly retriable = false
  readonly issues: readonly SchemaIssue[]

  constructor(message: string, issues: readonly SchemaIssue[] = [], details: ErrorDetails = {}) {
    super(message, details)
    this.issues = issues
  }
}

/** Runs a codec; an error names the node. */
export function told<T>(details: ErrorDetails, act: () => T): T {
  try {
    return act()
  } catch (error) {
    // A subclass comes from the codec itself, and is passed through.
    if (!isExactly(error, CodecError)) throw error
    const { message, issues, cause } = error
    throw new CodecError(`${message}: ${details.path}`, issues, { ...details, cause })
  }
}

/**
 * Raw bytes.
 *
 *     const queue = new Queue(client, '/images', { codec: bytes })
 *     await queue.put(new Uint8Array([1, 2, 3]))
 */
export const bytes: Codec<Uint8Array> = { encode: (value) => value, decode: (value) => value }

/**
 * UTF-8.
 *
 *     const { data } = await client.get('/greeting', { codec: text })
 *     console.log(data.toUpperCase())
 */
export const text: Codec<string> = { encode: encodeText, decode: (value) => decodeText(value) }

/**
 * JSON, validated by a schema (zod, valibot, arktype and others) in both directions if there is
 * one.
 *
 *     const settings = json<{ limit: number }>()
 *     const { data } = await client.get('/settings', { codec: settings })
 *     console.log(data.limit)
 */
export function json<T>(schema?: StandardSchema<T>): Codec<T> {
  const check = (value: unknown): T =>
    schema === undefined ? (value as T) : validate(schema, value)
  return {
    encode(value) {
      const written = JSON.stringify(check(value)) as string | undefined
      if (written === undefined) throw new CodecError('this value cannot be written as JSON')
      return encodeText(written)
    },
    decode: (value) => check(parse(decodeText(value))),
  }
}

function parse(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch (error) {
    throw new CodecError('not JSON', [], { cause: error })
  }
}

function validate<T>(schema: StandardSchema<T>, value: unknown): T {
  const result = schema['~standard'].validate(value)
  if (result instanceof Promise)
    throw new CodecError('the schema is asynchronous; it must be synchronous')
  if (result.issues === undefined) return result.value
  const [first] = result.issues
  throw new CodecError(first?.message ?? 'the value does not fit the schema', result.issues)
}
