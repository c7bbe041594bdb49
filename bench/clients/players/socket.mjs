/** No client at all: a socket that sends requests and counts replies. */
import { connect } from 'node:net'
import { play } from './play.mjs'

const opcodes = { create: 1, get: 4, set: 5 }
const sessionTimeoutMs = 30_000
const frameBytesMax = 64 * 1024

/** Encodes numbers, text and bytes as a frame of the protocol. */
class Frame {
  #buffer = Buffer.alloc(frameBytesMax)
  #at = 0

  begin() {
    this.#at = 4
    return this
  }

  byte(value) {
    this.#at = this.#buffer.writeUInt8(value, this.#at)
    return this
  }

  int(value) {
    this.#at = this.#buffer.writeInt32BE(value, this.#at)
    return this
  }

  long(value) {
    this.#at = this.#buffer.writeBigInt64BE(value, this.#at)
    return this
  }

  bytes(value) {
    const start = this.#at + 4
    const length =
      typeof value === 'string' ? this.#buffer.write(value, start) : value.copy(this.#buffer, start)
    this.int(length)
    this.#at += length
    return this
  }

  end() {
    this.#buffer.writeInt32BE(this.#at - 4, 0)
    return Buffer.from(this.#buffer.subarray(0, this.#at))
  }
}

await play(async (address) => {
  const [host, port] = address.split(':')
  const received = Buffer.alloc(frameBytesMax)
  const frame = new Frame()
  let behind = Buffer.alloc(0)
  let waiting = []
  let unsent = []
  let isReading = false
  const flush = () => {
    if (unsent.length > 0) socket.write(unsent.length === 1 ? unsent[0] : Buffer.concat(unsent))
    unsent = []
  }
  const callback = (length) => {
    let chunk = received.subarray(0, length)
    if (behind.length > 0) chunk = Buffer.concat([behind, chunk])
    let at = 0
    let count = 0
    while (chunk.length - at >= 4 && chunk.length - at >= 4 + chunk.readInt32BE(at)) {
      at += 4 + chunk.readInt32BE(at)
      count++
    }
    behind = Buffer.from(chunk.subarray(at))
    const answered = waiting.slice(0, count)
    waiting = waiting.slice(count)
    // Requests made during this are sent together.
    isReading = true
    for (const done of answered) done()
    isReading = false
    flush()
    return true
  }
  const onread = { buffer: received, callback }
  const socket = connect({ host, port: Number(port), noDelay: true, onread })
  const ask = (bytes, done) => {
    waiting.push(done)
    unsent.push(bytes)
    if (!isReading) flush()
  }
  await new Promise((resolve) => socket.once('connect', resolve))
  frame.begin().int(0).long(0n).int(sessionTimeoutMs).long(0n).bytes(Buffer.alloc(16))
  await new Promise((resolve) => ask(frame.end(), resolve))
  let xid = 0
  const request = (operation) => frame.begin().int(++xid).int(opcodes[operation])
  return {
    get(path, done) {
      request('get').bytes(path).byte(0)
      ask(frame.end(), done)
    },
    set(path, data, done) {
      request('set').bytes(path).bytes(data).int(-1)
      ask(frame.end(), done)
    },
    create(path, data, done) {
      request('create').bytes(path).bytes(data)
      frame.int(1).int(31).bytes('world').bytes('anyone').int(0)
      ask(frame.end(), done)
    },
  }
})
