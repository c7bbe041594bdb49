import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@zabra/client'
import { nextState, type FaultProxy } from '@zabra/testing'
import { expect, test } from 'vitest'
import { useServer } from '../support/testing.ts'
import { standAsMaster } from './candidate.ts'
import { paths, prepare } from './layout.ts'
import { story } from './story.ts'
import { Submitter } from './submitter.ts'
import { Worker, type Work } from './worker.ts'

const { tree } = useServer()
const tasks = 48
const tasksPerFault = 3
/** Long enough for faults to happen during it. */
const workMsMax = 200

interface Actor {
  readonly client: Client
  readonly proxy: FaultProxy
}

test.each([1, 2, 3])(
  'connections and sessions break: every task is done, none twice by the living (%i)',
  async (seed) => {
    const chance = seededChance(seed)
    const { open, openProxied } = await tree()
    const auditor = await open({ sessionTimeoutMs: 2000 })
    await prepare(auditor)
    const ledger = new Ledger(auditor, chance)
    const end = new AbortController()
    const options = { sessionTimeoutMs: 400, retry: { repeatsMax: Infinity } }

    const actors: Actor[] = []
    const parts: Promise<void>[] = []
    for (const name of ['alpha', 'beta', 'gamma']) {
      const actor = await openProxied(options)
      actors.push(actor)
      parts.push(standAsMaster(actor.client, name, end.signal))
    }
    for (const name of ['w1', 'w2', 'w3', 'w4']) {
      const actor = await openProxied(options)
      actors.push(actor)
      parts.push(new Worker(actor.client, name, ledger.work).run(end.signal))
    }

    const customer = await openProxied({ ...options, sessionTimeoutMs: 2000 })
    actors.push(customer)
    const submitter = new Submitter(customer.client)
    let done = 0
    const results = Array.from({ length: tasks }, async (_, input) => {
      const result = await submitter.result(await submitter.submit(input))
      if (++done % tasksPerFault === 0) strike(actors[Math.floor(chance() * actors.length)]!)
      return result
    })
    expect(await Promise.all(results)).toEqual(Array.from({ length: tasks }, (_, n) => n * n))

    end.abort()
    await Promise.all(parts)
    expect(ledger.violations).toEqual([])
    expect(await auditor.children(paths.tasks)).toEqual([])
    const workers = await auditor.children(paths.assignments)
    for (const worker of workers)
      expect(await auditor.children(paths.assignmentsOf(worker))).toEqual([])

    function strike({ client, proxy }: Actor): void {
      if (chance() < 0.5) {
        proxy.reset()
        return
      }
      const expired = nextState(client, 'expired', { signal: end.signal, timeoutMs: Infinity })
      // The trial may end first.
      void expired.catch(() => {}).then(() => proxy.heal())
      proxy.cut()
    }
  },
)

test('the story runs to its end', async () => {
  const { connectString } = await tree()
  const lines: string[] = []
  const results = await story(connectString, (line) => lines.push(line))
  expect(results).toEqual(Array.from({ length: 12 }, (_, index) => `${index + 1}.jpg`))
  expect(lines.filter((line) => line.endsWith('is the master'))).toHaveLength(2)
  expect(lines.filter((line) => line.endsWith('dies'))).toHaveLength(2)
})

/** Squares numbers, and checks every guarantee of the system about workers. */
class Ledger {
  readonly violations: string[] = []
  private readonly auditor: Client
  private readonly chance: () => number
  private readonly attempts = new Map<string, { worker: string; token: bigint }[]>()

  constructor(auditor: Client, chance: () => number) {
    this.auditor = auditor
    this.chance = chance
  }

  readonly work: Work = async ({ id, input, worker, token }) => {
    const before = this.attempts.get(id) ?? []
    this.attempts.set(id, [...before, { worker, token }])
    for (const attempt of before) {
      if (attempt.token >= token) this.violations.push(`${id}: a token that did not grow`)
      // It was given to another worker, so this one must have been dead at that time.
      if ((await this.auditor.exists(paths.worker(attempt.worker))) !== undefined)
        this.violations.push(`${id}: ${worker} has it, and ${attempt.worker} is alive`)
    }
    await sleep(this.chance() * workMsMax)
    return Number(input) * Number(input)
  }
}

function seededChance(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
