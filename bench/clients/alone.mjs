/**
 * Compares the clients of two clones without sockets and servers, by CPU time, which a busy machine
 * disturbs less than throughput. Both must be built.
 *
 *     node bench/clients/alone.mjs BEFORE NOW [ROUNDS]
 */
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'

const [, , before, now, rounds = '7'] = process.argv
if (now === undefined) {
  console.error('usage: node bench/clients/alone.mjs BEFORE NOW [ROUNDS]')
  process.exit(2)
}
const player = join(import.meta.dirname, 'players', 'alone.mjs')
const seconds = '0.3'

/** What disturbs a run only makes it slower: the second best is close to the truth. */
function secondBest(values) {
  return values.toSorted((a, b) => a - b)[1]
}

console.log('| | before | now | ratio |\n| --- | ---: | ---: | ---: |')
for (const window of ['1', '256'])
  for (const operation of ['get', 'set', 'create']) {
    const measure = (clone) =>
      Number(execFileSync(process.execPath, [player, resolve(clone), operation, window, seconds]))
    const pairs = Array.from({ length: Number(rounds) }, () => [measure(before), measure(now)])
    const [old, own] = [0, 1].map((i) => secondBest(pairs.map((pair) => pair[i])))
    const name = `${operation}, ${window === '1' ? 'one by one' : `${window} at a time`}`
    console.log(
      `| ${name} | ${old.toFixed(2)} us | ${own.toFixed(2)} us | ${(own / old).toFixed(2)} |`,
    )
  }
