import fc, { type GeneratorValue } from 'fast-check'
import { expect, test } from 'vitest'
import { decode, encode, type Codec } from '../codec.ts'
import { MalformedError } from '../malformed.ts'
import { Reader } from '../reader.ts'
import * as client from './client.ts'
import * as common from './common.ts'
import * as storage from './storage.ts'
import * as transaction from './transaction.ts'

/**
 * A reader that returns random primitives. Given this reader, any declaration makes up a random
 * value of its type.
 */
class DrawingReader extends Reader {
  private readonly draw: GeneratorValue

  constructor(draw: GeneratorValue) {
    super()
    this.draw = draw
  }

  /** Optional fields at the end of a record check this. */
  override get remaining(): number {
    return this.draw(fc.boolean) ? 100 : 0
  }
  override byte(): number {
    return this.draw(fc.integer, { min: 0, max: 255 })
  }
  override bool(): boolean {
    return this.draw(fc.boolean)
  }
  override int(): number {
    return this.draw(fc.integer)
  }
  override long(): bigint {
    return this.draw(fc.bigInt, { min: -(1n << 63n), max: (1n << 63n) - 1n })
  }
  override buffer(): Uint8Array | null {
    return this.draw(() => fc.option(fc.uint8Array({ maxLength: 12 })))
  }
  override nullableText(): string | null {
    return this.draw(() => fc.option(fc.string({ unit: 'binary', maxLength: 12 })))
  }
  override ustring(): string {
    return this.draw(() => fc.string({ unit: 'binary', maxLength: 12 }))
  }
  override count(): number {
    return this.draw(fc.integer, { min: -1, max: 3 })
  }
}

const isCodec = (value: unknown): value is Codec<unknown> =>
  typeof value === 'object' && value !== null && 'read' in value && 'write' in value

/** MultiTxn stores bodies behind their own lengths: see transaction.test.ts. */
const apart = new Set(['MultiTxn'])

const records: [name: string, codec: Codec<unknown>][] = [client, common, storage, transaction]
  .flatMap((module) => Object.entries<unknown>(module))
  .filter((entry): entry is [string, Codec<unknown>] => isCodec(entry[1]) && !apart.has(entry[0]))

/**
 * Number of bytes at the end of a record that may be absent: fields that older releases do not
 * know.
 */
const optionalBytes: Readonly<Record<string, number>> = {
  ConnectRequest: 1,
  ConnectResponse: 1,
  CreateTxn: 4,
}

/** A value, or undefined if null was drawn for a list that is required. */
function drawValue(codec: Codec<unknown>, draw: GeneratorValue): { value: unknown } | undefined {
  try {
    return { value: codec.read(new DrawingReader(draw)) }
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedError)
    return undefined
  }
}

const forAny = (codec: Codec<unknown>, check: (value: unknown) => void, numRuns = 40): void => {
  fc.assert(
    fc.property(fc.gen(), (draw) => {
      const drawn = drawValue(codec, draw)
      if (drawn !== undefined) check(drawn.value)
    }),
    { numRuns },
  )
}

test('every record is tested', () => {
  expect(records.length).toBeGreaterThan(50)
})

test.each(records)('%s survives a round trip', (_name, codec) => {
  forAny(codec, (value) => {
    const bytes = encode(codec, value)
    const reader = new Reader(bytes)
    expect(plain(codec.read(reader))).toEqual(plain(value))
    expect(reader.remaining).toBe(0)
    expect(bytes.length).toBeGreaterThanOrEqual(codec.bytesMin)
  })
})

test.each(records)('%s is malformed if cut short anywhere', (name, codec) => {
  const optional = optionalBytes[name]
  forAny(
    codec,
    (value) => {
      const bytes = encode(codec, value)
      for (let end = 0; end < bytes.length; end++) {
        if (optional !== undefined && !isBare(value) && end === bytes.length - optional) continue
        expect(() => decode(codec, bytes.slice(0, end)), `cut at ${end}`).toThrow(MalformedError)
      }
    },
    20,
  )
})

test.each(records)('%s with any four bytes replaced is read or malformed', (_name, codec) => {
  const hostile = [-2, -0x80000000, 0x7fffffff, 0x00100000, 1000]
  forAny(
    codec,
    (value) => {
      const bytes = Buffer.from(encode(codec, value))
      for (let at = 0; at + 4 <= bytes.length; at++) {
        for (const length of hostile) {
          const bad = Buffer.from(bytes)
          bad.writeInt32BE(length, at)
          expectReadOrMalformed(codec, bad)
        }
      }
    },
    4,
  )
})

function expectReadOrMalformed(codec: Codec<unknown>, bytes: Uint8Array): void {
  try {
    decode(codec, bytes)
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
  }
}

/** A handshake of an old release, without the optional field. */
const isBare = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'readOnly' in value && value.readOnly === undefined

/** Buffers are read as views of other classes; only their bytes matter. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]))
}

test('the handshake has the flag if the other side knows it', () => {
  const request = {
    protocolVersion: 0,
    lastZxidSeen: 0n,
    timeOut: 30000,
    sessionId: 0n,
    passwd: Buffer.alloc(16),
    readOnly: undefined,
  }
  expect(encode(client.ConnectRequest, request)).toHaveLength(44)
  expect(encode(client.ConnectRequest, { ...request, readOnly: false })).toHaveLength(45)
  const { lastZxidSeen: _, ...response } = request
  expect(encode(client.ConnectResponse, response)).toHaveLength(36)
  expect(encode(client.ConnectResponse, { ...response, readOnly: true })).toHaveLength(37)
})

test('bytes after the flag of a handshake are ignored', () => {
  const bytes = Buffer.concat([new Uint8Array(28), Buffer.of(1, 2, 3)])
  expect(decode(client.ConnectRequest, bytes).readOnly).toBe(true)
})

test('records of fixed size have the expected size', () => {
  expect(client.RequestHeader.bytesMin).toBe(client.requestHeaderBytes)
  expect(client.ReplyHeader.bytesMin).toBe(client.replyHeaderBytes)
  expect(common.Stat.bytesMin).toBe(common.statBytes)
  expect(storage.FileHeader.bytesMin).toBe(storage.fileHeaderBytes)
  expect(storage.StatPersisted.bytesMin).toBe(60)
  expect(transaction.TxnHeader.bytesMin).toBe(transaction.txnHeaderBytes)
  expect(transaction.TxnDigest.bytesMin).toBe(transaction.txnDigestBytes)
})
