import type { CodecMemory, LastValue } from './codec-memory.ts'
import { MalformedError } from './malformed.ts'
import { Reader } from './reader.ts'
import { Writer } from './writer.ts'

/** Reads and writes one kind of value. */
export interface Codec<T> {
  /** For a primitive, the method of Reader and Writer that handles it. */
  readonly primitive?: Primitive
  /** The minimum encoded size of a value. */
  readonly bytesMin: number
  readonly read: (reader: Reader) => T
  readonly write: (writer: Writer, value: T) => void
}

type Primitive = 'byte' | 'bool' | 'int' | 'long' | 'buffer' | 'nullableText' | 'ustring'

/** The TypeScript type of the values of a codec. */
export type TypeOf<C> = C extends Codec<infer T> ? T : never

function primitive<T>(name: Primitive, bytesMin: number): Codec<T> {
  return {
    primitive: name,
    bytesMin,
    read: (reader) => reader[name]() as T,
    write: (writer, value) => (writer[name] as (value: T) => void).call(writer, value),
  }
}

export const byte = primitive<number>('byte', 1)
export const bool = primitive<boolean>('bool', 1)
export const int = primitive<number>('int', 4)
export const long = primitive<bigint>('long', 8)
export const buffer = primitive<Uint8Array | null>('buffer', 4)
export const nullableText = primitive<string | null>('nullableText', 4)
export const ustring = primitive<string>('ustring', 4)

/** A counted list that may be null. */
export function nullableVector<T>(element: Codec<T>): Codec<T[] | null> {
  return {
    bytesMin: 4,
    read(reader) {
      const count = reader.count(element.bytesMin)
      if (count === -1) return null
      const values: T[] = []
      for (let i = 0; i < count; i++) values.push(element.read(reader))
      return values
    },
    write(writer, values) {
      if (values === null) {
        writer.int(-1)
        return
      }
      writer.int(values.length)
      for (const value of values) element.write(writer, value)
    },
  }
}

/** A counted list that must not be null. */
export function vector<T>(element: Codec<T>): Codec<T[]> {
  const nullable = nullableVector(element)
  return {
    bytesMin: 4,
    read(reader) {
      const values = nullable.read(reader)
      if (values === null) throw new MalformedError('null where a list is required')
      return values
    },
    write: nullable.write,
  }
}

/**
 * For short values that usually repeat: bytes equal to the previous ones are not decoded again,
 * if the reader has a memory. The value is shared, so nobody may change it.
 */
export function remembered<T extends object>(
  codec: Codec<T | null>,
  lastOf: (memory: CodecMemory) => LastValue,
): Codec<T | null> {
  return {
    bytesMin: codec.bytesMin,
    read(reader) {
      const { memory } = reader
      if (memory === undefined) return codec.read(reader)
      const last = lastOf(memory)
      if (last.isNext(reader)) {
        reader.position += last.length
        return last.value as T
      }
      const start = reader.position
      const read = codec.read(reader)
      if (read !== null) last.remember(read, reader.view, start, reader.position - start)
      return read
    },
    write(writer, written) {
      const { memory } = writer
      const last = memory === undefined ? undefined : lastOf(memory)
      if (last === undefined || written === null || written !== last.value) {
        codec.write(writer, written)
        return
      }
      writer.rawView(last.view, 0, last.length)
    },
  }
}

/** A record as bytes of its own. */
export function encode<T>(codec: Codec<T>, value: T): Uint8Array {
  const writer = new Writer()
  codec.write(writer, value)
  return writer.written()
}

/** Decodes a record that starts at the first byte; trailing bytes are ignored, as in Apache. */
export function decode<T>(codec: Codec<T>, bytes: Uint8Array): T {
  return codec.read(new Reader(bytes))
}
