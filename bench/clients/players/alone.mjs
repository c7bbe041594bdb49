/**
 * The client of a clone without sockets and without a server: its host answers every request from
 * memory. Prints the CPU time of one call, in microseconds.
 *
 *     node alone.mjs CLONE get|set|create WINDOW SECONDS
 */
const [, , clone, operation, window, seconds] = process.argv
const { Client } = await import(`${clone}/packages/client/dist/index.js`)

const opcodes = { getData: 4, setData: 5, create2: 15 }
const statBytes = 68
const passwordBytes = 16
const timeoutMsMax = 0x7fffffff
const data = Buffer.alloc(100, 'x')
const warmMs = 400

/** Replies to a piece of requests, which may begin with the handshake. */
class Answers {
  #hasGreeted = false
  #out = Buffer.alloc(1 << 20)
  #at = 0

  to(requests) {
    this.#at = 0
    for (let at = 0; at < requests.length; at += 4 + requests.readInt32BE(at)) {
      if (this.#hasGreeted) this.#answer(requests, at + 4)
      else this.#greet()
    }
    return Buffer.from(this.#out.subarray(0, this.#at))
  }

  #greet() {
    this.#hasGreeted = true
    this.#frame(() => {
      for (const value of [0, 30_000]) this.#int(value)
      this.#at = this.#out.writeBigInt64BE(1n, this.#at)
      this.#bytes(Buffer.alloc(passwordBytes))
      this.#bytes(Buffer.alloc(1), false)
    })
  }

  #answer(requests, at) {
    const type = requests.readInt32BE(at + 4)
    this.#frame(() => {
      this.#int(requests.readInt32BE(at))
      this.#at = this.#out.writeBigInt64BE(1n, this.#at)
      this.#int(0)
      if (type === opcodes.getData) this.#bytes(data)
      if (type === opcodes.create2)
        this.#bytes(requests.subarray(at + 12, at + 12 + requests.readInt32BE(at + 8)))
      if (Object.values(opcodes).includes(type)) this.#bytes(Buffer.alloc(statBytes), false)
    })
  }

  #frame(write) {
    const start = this.#at
    this.#at += 4
    write()
    this.#out.writeInt32BE(this.#at - start - 4, start)
  }

  #int(value) {
    this.#at = this.#out.writeInt32BE(value, this.#at)
  }

  #bytes(bytes, hasLength = true) {
    if (hasLength) this.#int(bytes.length)
    this.#at += bytes.copy(this.#out, this.#at)
  }
}

const host = {
  nowMs: () => performance.now(),
  random: Math.random,
  timer(ms, callback) {
    const timer = setTimeout(() => callback(), Math.min(ms, timeoutMsMax)).unref()
    return () => clearTimeout(timer)
  },
  defer: (callback) => process.nextTick(callback),
  open(_, events) {
    const answers = new Answers()
    setImmediate(() => events.opened())
    return {
      isFull: false,
      write(bytes) {
        const replies = answers.to(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
        setImmediate(() => events.received(replies, replies.length))
        return true
      },
      close() {},
    }
  },
}

const client = new Client({ servers: 'memory', host })
await client.connected()
const start = {
  get: () => client.get('/bench/data'),
  set: () => client.set('/bench/data', data),
  create: (i) => client.create(`/bench/1-${i}`, data),
}[operation]

/** Keeps that many calls in flight for so long; resolves to their number. */
function load(ms) {
  return new Promise((resolve) => {
    const endsAt = performance.now() + ms
    let begun = 0
    let ended = 0
    const done = () => {
      ended++
      if (performance.now() < endsAt) start(begun++).then(done, done)
      else if (ended === begun) resolve(ended)
    }
    while (begun < Number(window)) start(begun++).then(done, done)
  })
}

await load(warmMs)
const before = process.cpuUsage()
const calls = await load(Number(seconds) * 1000)
const { user, system } = process.cpuUsage(before)
console.log(((user + system) / calls).toFixed(3))
process.exit(0)
