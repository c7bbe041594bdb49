/** No client at all: a socket of Node that sends the requests and counts the replies. */
import { connect } from 'node:net'
import { play } from './play.mjs'

const opcodes = { create: 1, get: 4, set: 5 }
const sessionTimeoutMs = 30_000
const everythingForEveryone = [[1, 31], 'world', 'anyone']

await play(async (address) => {
  const [host, port] = address.split(':')
  const waiting = []
  const received = Buffer.alloc(64 * 1024)
  let behind = Buffer.alloc(0)
  const callback = (length) => {
    let chunk = received.subarray(0, length)
    if (behind.length > 0) chunk = Buffer.concat([behind, chunk])
    let at = 0
    while (chunk.length - at >= 4 && chunk.length - at >= 4 + chunk.readInt32BE(at)) {
      at += 4 + chunk.readInt32BE(at)
      waiting.shift()()
    }
    behind = Buffer.from(chunk.subarray(at))
    return true
  }
  const onread = { buffer: received, callback }
  const socket = connect({ host, port: Number(port), noDelay: true, onread })
  const ask = (bytes, done) => {
    waiting.push(done)
    socket.write(bytes)
  }
  await new Promise((resolve) => socket.once('connect', resolve))
  const greeting = [0, 0, 0, sessionTimeoutMs, 0, 0, Buffer.alloc(16)]
  await new Promise((resolve) => ask(frame(greeting), resolve))
  let xid = 0
  const request = (operation, ...fields) => frame([++xid, opcodes[operation], ...fields])
  return {
    get: (path, done) => ask(request('get', path, false), done),
    set: (path, data, done) => ask(request('set', path, data, -1), done),
    create: (path, data, done) =>
      ask(request('create', path, data, ...everythingForEveryone.flat(), 0), done),
  }
})

/** Numbers, truths, text and bytes, as the protocol writes them, behind their length. */
function frame(fields) {
  const parts = fields.map((field) => {
    if (typeof field === 'boolean') return Buffer.from([field ? 1 : 0])
    if (typeof field === 'number') return int(field)
    const bytes = Buffer.from(field)
    return Buffer.concat([int(bytes.length), bytes])
  })
  const body = Buffer.concat(parts)
  return Buffer.concat([int(body.length), body])
}

function int(value) {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
