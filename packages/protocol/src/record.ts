import type { Codec, TypeOf } from './codec.ts'

type AnyFields = Readonly<Record<string, Codec<unknown>>>
export type RecordOf<F> = { -readonly [Name in keyof F]: TypeOf<F[Name]> }

/**
 * Declares a record: its fields in the order of the wire.
 *
 * The declaration is compiled once, at load, into the straight-line code that one would write by
 * hand; a loop over the fields costs about three times as much. If code generation from strings is
 * disabled, the loop is used.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- the only way to say "a codec of anything"
export function record<const F extends Readonly<Record<string, Codec<any>>>>(
  fields: F,
): Codec<RecordOf<F>> {
  const codecs = fields as unknown as AnyFields
  try {
    return compile(codecs) as unknown as Codec<RecordOf<F>>
  } catch (error) {
    if (error instanceof EvalError) return interpret(codecs) as unknown as Codec<RecordOf<F>>
    throw error
  }
}

function bytesMinOf(fields: AnyFields): number {
  return Object.values(fields).reduce((sum, codec) => sum + codec.bytesMin, 0)
}

function compile(fields: AnyFields): Codec<Record<string, unknown>> {
  const names = Object.keys(fields)
  const reads = names.map((name) => {
    const method = fields[name]!.primitive
    return `${name}: ${method === undefined ? `${name}.read(s)` : `s.${method}()`}`
  })
  const writes = names.map((name) => {
    const method = fields[name]!.primitive
    return method === undefined ? `${name}.write(s, v.${name})` : `s.${method}(v.${name})`
  })
  const body = `'use strict'; return {
    bytesMin: ${bytesMinOf(fields)},
    read: (s) => ({ ${reads.join(', ')} }),
    write: (s, v) => { ${writes.join('; ')} },
  }`
  // oxlint-disable-next-line no-implied-eval, typescript/no-implied-eval -- the point of this function
  const make = new Function(...names, body) as (
    ...codecs: unknown[]
  ) => Codec<Record<string, unknown>>
  return make(...Object.values(fields))
}

/** The same as a loop: the fallback, and the reference for tests of the compiled code. */
export function interpret(fields: AnyFields): Codec<Record<string, unknown>> {
  const entries = Object.entries(fields)
  return {
    bytesMin: bytesMinOf(fields),
    read(reader) {
      const value: Record<string, unknown> = {}
      for (const [name, codec] of entries) value[name] = codec.read(reader)
      return value
    },
    write(writer, value) {
      for (const [name, codec] of entries) codec.write(writer, value[name])
    },
  }
}
