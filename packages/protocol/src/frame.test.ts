import { memoryUsage } from 'node:process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FrameCutter, type FrameSink } from './frame.ts'
import { MalformedError } from './malformed.ts'

const bytesMax = 1000

/** Copies what it receives, and returns false after the frames at which it should stop. */
class Collector implements FrameSink {
  readonly frames: string[] = []
  readonly stopAfter: ReadonlySet<number>

  constructor(stopAfter: Iterable<number> = []) {
    this.stopAfter = new Set(stopAfter)
  }

  frame(bytes: Uint8Array, start: number, end: number): boolean {
    this.frames.push(Buffer.from(bytes.subarray(start, end)).toString('hex'))
    return !this.stopAfter.has(this.frames.length)
  }
}

function framed(payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(4 + payload.length)
  frame.writeInt32BE(payload.length)
  frame.set(payload, 4)
  return frame
}

const payloads = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 })
const cuts = fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 30 })

/** Pushes a stream in pieces of the given sizes, all through one reused array. */
function pushInPieces(
  cutter: FrameCutter,
  stream: Uint8Array,
  sizes: readonly number[],
  sink: FrameSink,
  between: () => void = () => {},
): void {
  const chunk = new Uint8Array(4096)
  for (let at = 0, i = 0; at < stream.length; i++) {
    const size = Math.min(stream.length - at, i < sizes.length ? sizes[i]! : stream.length - at)
    chunk.set(stream.subarray(at, at + size))
    cutter.push(chunk, size, sink)
    chunk.fill(0xee)
    at += size
    between()
  }
}

test('any split of a stream yields the same frames', () => {
  fc.assert(
    fc.property(payloads, cuts, (sent, sizes) => {
      const cutter = new FrameCutter(bytesMax)
      const sink = new Collector()
      pushInPieces(cutter, Buffer.concat(sent.map(framed)), sizes, sink)
      expect(sink.frames).toEqual(sent.map((payload) => Buffer.from(payload).toString('hex')))
      expect(cutter.keptBytes).toBe(0)
    }),
    { numRuns: 500 },
  )
})

test('splitting byte by byte yields the same frames', () => {
  const sent = [Buffer.from('hello'), Buffer.alloc(0), Buffer.alloc(700, 7)]
  const cutter = new FrameCutter(bytesMax)
  const sink = new Collector()
  const stream = Buffer.concat(sent.map(framed))
  pushInPieces(cutter, stream, Array<number>(stream.length).fill(1), sink)
  expect(sink.frames).toEqual(sent.map((payload) => payload.toString('hex')))
})

test('an incomplete frame is kept until the rest arrives', () => {
  const cutter = new FrameCutter(bytesMax)
  const sink = new Collector()
  const stream = framed(Buffer.from('abcdef'))
  cutter.push(stream, 7, sink)
  expect(sink.frames).toEqual([])
  expect(cutter.keptBytes).toBe(7)
  cutter.push(stream.subarray(7), 3, sink)
  expect(sink.frames).toEqual([Buffer.from('abcdef').toString('hex')])
  expect(cutter.keptBytes).toBe(0)
})

test('a sink that returned false gets nothing until it is resumed', () => {
  const cutter = new FrameCutter(bytesMax)
  const sink = new Collector([1])
  const stream = Buffer.concat([framed(Buffer.of(1)), framed(Buffer.of(2)), framed(Buffer.of(3))])
  cutter.push(stream, stream.length, sink)
  expect(sink.frames).toEqual(['01'])
  expect(cutter.isHeld).toBe(true)
  cutter.resume(sink)
  expect(sink.frames).toEqual(['01', '02', '03'])
  expect(cutter.isHeld).toBe(false)
})

test('data that arrives while the sink waits is kept, even if nothing was left over', () => {
  const cutter = new FrameCutter(bytesMax)
  const sink = new Collector([1])
  cutter.push(framed(Buffer.of(1)), 5, sink)
  cutter.push(framed(Buffer.of(2)), 5, sink)
  cutter.push(framed(Buffer.of(3)), 5, sink)
  expect(sink.frames).toEqual(['01'])
  expect(cutter.keptBytes).toBe(10)
  cutter.resume(sink)
  expect(sink.frames).toEqual(['01', '02', '03'])
})

test('no frame is lost, repeated or reordered, wherever a sink stops', () => {
  const stops = fc.array(fc.nat({ max: 14 }), { maxLength: 8 })
  fc.assert(
    fc.property(payloads, cuts, stops, fc.boolean(), (sent, sizes, stopAfter, resumeAtOnce) => {
      const cutter = new FrameCutter(bytesMax)
      const sink = new Collector(stopAfter)
      pushInPieces(cutter, Buffer.concat(sent.map(framed)), sizes, sink, () => {
        if (resumeAtOnce) cutter.resume(sink)
      })
      for (let i = 0; cutter.isHeld && i <= sent.length; i++) cutter.resume(sink)
      expect(sink.frames).toEqual(sent.map((payload) => Buffer.from(payload).toString('hex')))
      expect(cutter.keptBytes).toBe(0)
    }),
    { numRuns: 500 },
  )
})

test('resuming a sink that was not stopped does nothing', () => {
  const sink = new Collector()
  new FrameCutter(bytesMax).resume(sink)
  expect(sink.frames).toEqual([])
})

test.each([-1, -0x80000000, bytesMax + 1, 0x7fffffff, 0x72756f6b])(
  'a length of %i is refused as soon as it is read',
  (length) => {
    const word = Buffer.alloc(4)
    word.writeInt32BE(length)
    expect(() => new FrameCutter(bytesMax).push(word, 4, new Collector())).toThrow(MalformedError)
    const cutter = new FrameCutter(bytesMax)
    cutter.push(word, 3, new Collector())
    expect(() => cutter.push(word.subarray(3), 1, new Collector())).toThrow(MalformedError)
  },
)

test('the largest allowed frame passes, and so does an empty one', () => {
  const sink = new Collector()
  const stream = Buffer.concat([framed(Buffer.alloc(bytesMax)), framed(Buffer.alloc(0))])
  new FrameCutter(bytesMax).push(stream, stream.length, sink)
  expect(sink.frames.map((frame) => frame.length / 2)).toEqual([bytesMax, 0])
})

test('frames before an invalid length are still delivered', () => {
  const sink = new Collector()
  const stream = Buffer.concat([framed(Buffer.of(1)), Buffer.of(255, 255, 255, 255)])
  expect(() => new FrameCutter(bytesMax).push(stream, stream.length, sink)).toThrow(MalformedError)
  expect(sink.frames).toEqual(['01'])
})

test('memory grows with received bytes, not with announced lengths', () => {
  const announced = 1 << 20
  const word = Buffer.alloc(8)
  word.writeInt32BE(announced)
  const before = memoryUsage().arrayBuffers
  const cutters = Array.from({ length: 200 }, () => new FrameCutter(announced))
  for (const cutter of cutters) cutter.push(word, word.length, new Collector())
  expect(memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20)
  expect(cutters.every((cutter) => cutter.keptBytes === word.length)).toBe(true)
})
