/** The whole system under virtual time: masters, workers, servers and connections fail. */
import { simulate } from '@zabra/testing'
import { expect, test } from 'vitest'
import { standAsMaster } from './candidate.ts'
import { paths, prepare } from './layout.ts'
import { Submitter } from './submitter.ts'
import { Worker, type Assignment } from './worker.ts'

const tasks = 12
const workMsMax = 500

test('under every fault each task gets its result, and late workers can be told', async () => {
  const { runs } = await simulate(
    // After everything has healed, there is time for the tasks that are left.
    { seeds: 4, durationMs: 8000, calmMs: 30_000 },
    ({ program, check, atEnd }) => {
      const results = new Map<number, unknown>()
      const given = new Map<string, Set<string>>()

      for (const name of ['alpha', 'beta'])
        program(name, async ({ client, signal }) => {
          await prepare(client)
          await standAsMaster(client, name, signal)
        })

      for (const name of ['w1', 'w2', 'w3'])
        program(name, async ({ client, signal, sleep, random }) => {
          await prepare(client)
          const square = async ({ id, input, worker, token }: Assignment): Promise<number> => {
            const holders = given.get(`${id} ${token}`) ?? new Set()
            given.set(`${id} ${token}`, holders.add(worker))
            await sleep(random() * workMsMax)
            return Number(input) ** 2
          }
          await new Worker(client, name, square).run(signal)
        })

      program('customer', async ({ client }) => {
        await prepare(client)
        const submitter = new Submitter(client)
        while (results.size < tasks) {
          const input = results.size
          results.set(input, await submitter.result(await submitter.submit(input)))
        }
      })

      check('no two workers have the same token for a task', () =>
        [...given.values()].every(({ size }) => size === 1),
      )
      atEnd('every task has the right result', async ({ client }) => {
        expect([...results]).toEqual(Array.from({ length: tasks }, (_, n) => [n, n * n]))
        expect(await client.children(paths.workers)).toEqual([])
      })
    },
  )
  expect(runs).toBe(4)
}, 60_000)
