/**
 * Another client of the server, in a process of its own: reads and writes in turn, one at a time, and
 * times each. It gets lines `begin` and `end`, and answers `end` with a line of JSON.
 */
import { createInterface } from 'node:readline'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'

const [port = ''] = process.argv.slice(2)
const client = await RawClient.connect(Number(port), { timeoutMs: 30_000 })
const path = '/probe'
await client.create(path, 'x'.repeat(100))
const data = Buffer.from('x'.repeat(100))
/** Undefined between two measurements. */
let times: { readonly read: number[]; readonly write: number[] } | undefined
const over = new AbortController()

const commands = createInterface({ input: process.stdin })
commands.on('line', (line) => {
  if (line === 'begin') times = { read: [], write: [] }
  else if (times !== undefined) {
    const { read, write } = times
    times = undefined
    console.log(JSON.stringify({ read: summaryOf(read), write: summaryOf(write) }))
  }
})
commands.on('close', () => over.abort())
console.log('ready')

while (!over.signal.aborted) {
  const into = times
  const startMs = performance.now()
  await client.must('getData', { path, watch: false })
  const readMs = performance.now()
  await client.must('setData', { path, data, version: -1 })
  into?.read.push(readMs - startMs)
  into?.write.push(performance.now() - readMs)
  // Paced, so that the client measures the server and not how much it can take.
  await new Promise((resolve) => setTimeout(resolve, 2))
}
await client.close()

function summaryOf(all: number[]): object {
  const sorted = all.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
  return { count: all.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}
