/**
 * Executes the commands of the harness in a Node process, over the few calls that the adapters have
 * in common: get, set and create call back with an error or nothing; watch calls back when it is
 * set, and again when it has fired.
 */
import { createInterface } from 'node:readline'

const sizeOfData = 100

/** `node CLIENT.mjs [MODULES] HOST:PORT ROOT` */
export async function play(open) {
  const [address, root] = process.argv.slice(-2)
  const client = await open(address)
  say('ready')
  for await (const line of createInterface({ input: process.stdin })) {
    const [wish, ...args] = line.split(' ')
    if (wish === 'load') await load(client, root, ...args)
    else if (wish === 'arm') arm(client, args[0])
    else if (wish === 'watches') watches(client, args[0], Number(args[1]))
    else if (wish === 'settle') settle()
    else throw new Error(`what is ${line}?`)
  }
  process.exit(0)
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

/** Keeps `window` requests in flight until the time is up. */
async function load(client, root, operation, window, seconds, round) {
  const data = Buffer.alloc(sizeOfData, 'x')
  const start = {
    get: (_, done) => client.get(`${root}/data`, done),
    set: (_, done) => client.set(`${root}/data`, data, done),
    create: (i, done) => client.create(`${root}/${round}-${i}`, data, done),
  }[operation]
  const startedAt = performance.now()
  const endsAt = startedAt + Number(seconds) * 1000
  const count = await new Promise((resolve, reject) => {
    let begun = 0
    let ended = 0
    const done = (error) => {
      if (error) reject(error)
      ended++
      if (performance.now() < endsAt) start(begun++, done)
      else if (ended === begun) resolve(ended)
    }
    const first = Number(window)
    while (begun < first) start(begun++, done)
  })
  say(`done ${count} ${Math.round((performance.now() - startedAt) * 1e6)}`)
}

/** Sets one watch; times are on the clock that all processes of the machine share. */
function arm(client, path) {
  client.watch(
    path,
    (error) => say(error ? `failed ${error}` : 'armed'),
    () => say(`fired ${process.hrtime.bigint()}`),
  )
}

/** Sets many watches, on the children of one node. */
function watches(client, path, count) {
  let set = 0
  let fired = 0
  const onSet = (error) => {
    if (error) say(`failed ${error}`)
    else if (++set === count) say('armed')
  }
  const onFired = () => {
    if (++fired === count) say(`fired ${process.hrtime.bigint()}`)
  }
  for (let i = 0; i < count; i++) client.watch(`${path}/${i}`, onSet, onFired)
}

/** Collects garbage, and returns the live bytes. */
function settle() {
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  say(`settled ${heapUsed + external}`)
}
