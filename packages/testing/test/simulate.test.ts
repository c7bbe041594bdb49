/** The statements about simulations in docs/testing.md. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { connect as connectSocket } from 'node:net'
import { setInterval as every, setTimeout as after } from 'node:timers/promises'
import { promisify } from 'node:util'
import { connect } from '@zabra/client'
import { Lock } from '@zabra/recipes'
import { expect, test } from 'vitest'
import {
  simulate,
  SimulationError,
  type FaultName,
  type ProgramMain,
  type Scenario,
  type SimulateOptions,
} from '../src/index.ts'

const calm: SimulateOptions = { seed: 1, servers: 1, faults: [], durationMs: 1000, calmMs: 0 }

/** Runs one program under one seed, where nothing goes wrong. */
async function runAlone(main: ProgramMain, options: SimulateOptions = {}): Promise<string[]> {
  let trace: readonly string[] = []
  const onRun: SimulateOptions['onRun'] = (run) => (trace = run.trace)
  await simulate({ ...calm, ...options, onRun }, ({ program }) => program(1, main))
  return [...trace]
}

async function failureOf(
  options: SimulateOptions,
  scenario: (scenario: Scenario) => void,
): Promise<SimulationError> {
  try {
    await simulate(options, scenario)
  } catch (error) {
    expect(error).toBeInstanceOf(SimulationError)
    return error as SimulationError
  }
  throw new Error('nothing was found')
}

/** Three programs write to a store under a lock; a fenced store refuses tokens of the past. */
function writers(isFenced: boolean) {
  return ({ program, check, atEnd }: Scenario): void => {
    let newest = 0n
    let writes = 0
    let isOverwritten = false
    program(3, async ({ client, signal, sleep }) => {
      const lock = new Lock(client, '/lock')
      while (!signal.aborted) {
        const held = await lock.acquire({ signal })
        await sleep(50)
        writes++
        if (held.token >= newest) newest = held.token
        else if (!isFenced) isOverwritten = true
        await held.release()
      }
    })
    check('nothing is overwritten by an earlier holder', () => !isOverwritten)
    atEnd('there were writes', () => writes > 0)
  }
}

test('a lock without fencing is found out, and the seed shows it again', async () => {
  const options: SimulateOptions = { seeds: 100, faults: ['pause'] }
  const error = await failureOf(options, writers(false))
  expect(error.message).toContain('the check "nothing is overwritten by an earlier holder" fails')
  expect(error.message).toContain(`simulate({ seed: ${error.seed}, ... })`)
  expect(error.trace.join('\n')).toMatch(/fault: program-\d pauses for \d+ ms/)
  const again = await failureOf({ ...options, seed: error.seed }, writers(false))
  expect(again.message).toBe(error.message)
}, 120_000)

test('a lock with fencing is not, under every fault', async () => {
  const { runs, faults } = await simulate({ seeds: 20 }, writers(true))
  expect(runs).toBe(20)
  expect(Object.keys(faults).toSorted()).toEqual([
    'crash',
    'cut',
    'expire',
    'loseDisk',
    'pause',
    'slow',
  ])
}, 120_000)

test.each<FaultName>(['cut', 'pause', 'crash', 'slow', 'loseDisk', 'expire'])(
  'programs get over the fault %s, and the trace tells of it',
  async (fault) => {
    const traces: string[] = []
    const { faults } = await simulate(
      {
        seeds: { first: 1, last: 6 },
        faults: [fault],
        onRun: ({ trace }) => traces.push(...trace),
      },
      writers(true),
    )
    expect(faults[fault]).toBeGreaterThan(0)
    expect(traces.join('\n')).toContain('fault: ')
  },
  60_000,
)

test('a program that was killed starts again, in another life', async () => {
  const lives = new Set<string>()
  await simulate({ seeds: 6, servers: 1, faults: ['crash'] }, ({ program }) => {
    program(2, async ({ client, index, life, signal, sleep }) => {
      lives.add(`${index}, life ${life}`)
      while (!signal.aborted) {
        await client.put('/seen', `${life}`)
        await sleep(100)
      }
    })
  })
  expect([...lives].some((life) => life.endsWith('life 2'))).toBe(true)
}, 60_000)

test('a session that the servers end is told as expired', async () => {
  const states = new Set<string>()
  await simulate({ seeds: 6, faults: ['expire'] }, ({ program }) => {
    program(2, async ({ client, signal, sleep }) => {
      client.onState(({ name }) => states.add(name))
      while (!signal.aborted) await sleep(100)
    })
  })
  expect([...states]).toContain('expired')
}, 60_000)

test('time is virtual for the program, and real for everybody else', async () => {
  const realBefore = Date.now()
  const hour = 3_600_000
  const seen: number[] = []
  await runAlone(
    async ({ sleep, now }) => {
      const wall = Date.now()
      expect(Math.abs(new Date().getTime() - wall)).toBeLessThan(2)
      const [monotonic, begun] = [performance.now(), now()]
      const [exact, fine] = [process.hrtime(), process.hrtime.bigint()]
      await new Promise((resolve) => setTimeout(resolve, hour))
      await after(hour)
      await promisify(setTimeout)(hour)
      await sleep(hour)
      for (const passed of [
        Date.now() - wall,
        performance.now() - monotonic,
        now() - begun,
        process.hrtime(exact)[0] * 1000,
      ])
        seen.push(passed / hour)
      expect(process.hrtime.bigint() - fine).toBeGreaterThan(13_000_000_000_000n)
    },
    { durationMs: 0, finishMs: 5 * hour },
  )
  for (const hours of seen) expect(Math.abs(hours - 4)).toBeLessThan(0.1)
  expect(seen).toHaveLength(8) // twice: the first seed is run again
  expect(Math.abs(Date.now() - realBefore)).toBeLessThan(hour)
}, 60_000)

/** Node has it from version 26 on. */
const temporal = Reflect.get(globalThis, 'Temporal') as
  | { readonly Now: { instant(): Date; plainDateISO(): { readonly year: number } } }
  | undefined

test.skipIf(temporal === undefined)('Temporal goes by the virtual clock', async () => {
  await runAlone(() => {
    const { Now } = temporal!
    expect(new Date(Now.instant().toJSON()).getTime()).toBe(Date.now())
    expect(Now.plainDateISO().year).toBe(new Date().getFullYear())
  })
})

test('timers of all kinds go by the virtual clock', async () => {
  const trace = await runAlone(async ({ log, sleep }) => {
    const canceled = setTimeout(() => log('never'), 10)
    clearTimeout(canceled)
    let ticks = 0
    const ticking = setInterval(() => ticks++, 100)
    await sleep(1050)
    clearInterval(ticking)
    await sleep(1000)
    log(`${ticks} ticks`)
    let rounds = 0
    for await (const value of every(50, 'round')) {
      expect(value).toBe('round')
      if (++rounds === 3) break
    }
    await new Promise((resolve) => setImmediate(resolve))
    const signal = AbortSignal.timeout(200)
    await expect(after(5000, undefined, { signal })).rejects.toMatchObject({
      name: 'AbortError',
      cause: { name: 'TimeoutError' },
    })
    setTimeout((...words: string[]) => log(words.join(' ')), 1, 'with', 'arguments').unref()
    await sleep(10)
  })
  const said = trace.map((line) => line.slice(12))
  expect(said).toContain('program-1: 10 ticks')
  expect(said).toContain('program-1: with arguments')
  expect(said).not.toContain('program-1: never')
})

test('what the program draws is the same for a seed, and another for the next', async () => {
  const drawn = (seed: number): Promise<string[]> =>
    runAlone(
      () => {
        console.log(Math.random(), randomUUID(), crypto.randomUUID(), randomInt(1000))
        console.log(randomBytes(4).toString('hex'), crypto.getRandomValues(new Uint8Array(4)))
      },
      { seed },
    )
  expect(await drawn(1)).toEqual(await drawn(1))
  expect(await drawn(1)).not.toEqual(await drawn(2))
  expect(await drawn(1)).toSatisfy((lines: string[]) => lines.some((l) => l.includes('Uint8Array')))
})

test('afterwards the globals are what they were', async () => {
  const names: readonly (readonly [object, string])[] = [
    [globalThis, 'setTimeout'],
    [globalThis, 'Date'],
    [Math, 'random'],
    [performance, 'now'],
    [AbortSignal, 'timeout'],
    [console, 'log'],
    [process, 'hrtime'],
  ]
  const values = (): unknown[] => names.map(([owner, name]) => Reflect.get(owner, name) as unknown)
  const before = values()
  let during: unknown[] = []
  await runAlone(() => void (during = values()))
  expect(values()).toEqual(before)
  expect(during.some((value, i) => value === before[i])).toBe(false)
})

test('simulations side by side do not disturb each other', async () => {
  const main: ProgramMain = async ({ client, sleep }) => {
    for (let i = 0; i < 5; i++) {
      await client.put('/x', `${Math.random()} at ${Date.now()}`)
      await sleep(100 * Math.random())
    }
  }
  const alone = await runAlone(main)
  const [first, second] = await Promise.all([runAlone(main), runAlone(main)])
  expect(first).toEqual(alone)
  expect(second).toEqual(alone)
})

test('AsyncLocalStorage of the program is kept over timers', async () => {
  const requests = new AsyncLocalStorage<string>()
  await runAlone(() =>
    requests.run('request 7', async () => {
      await new Promise<void>((resolve) => {
        setTimeout(() => {
          expect(requests.getStore()).toBe('request 7')
          resolve()
        }, 10)
      })
    }),
  )
})

test('a program may connect by itself', async () => {
  const trace = await runAlone(async ({ connectString }) => {
    const client = await connect(`${connectString}/app`, { keepAlive: 'worker' })
    await client.ensure('/')
    await client.create('/own', 'x')
    await client.close()
  })
  expect(trace.some((line) => line.endsWith('program-1 > create2 /own'))).toBe(true)
})

test('what was written can be read at the end', async () => {
  await simulate({ ...calm, seed: 3 }, ({ program, atEnd }) => {
    program('writer', ({ client }) => client.put('/written', 'yes'))
    atEnd('it is there', async ({ client }) => {
      expect(Buffer.from((await client.get('/written')).data).toString()).toBe('yes')
    })
  })
})

test.each<[string, ProgramMain, string | RegExp]>([
  ['throws', () => Promise.reject(new RangeError('no')), 'worker rejects with RangeError: no'],
  [
    'throws in a callback',
    async ({ sleep }) => {
      setTimeout(() => {
        throw new RangeError('late')
      }, 10)
      await sleep(1000)
    },
    'worker throws RangeError: late, which nobody catches',
  ],
  [
    'leaves a rejection unhandled',
    async ({ sleep }) => {
      void Promise.reject(new RangeError('lost'))
      await sleep(1000)
    },
    'worker leaves a rejection unhandled: RangeError: lost',
  ],
  [
    'does not end',
    async ({ client }) => {
      await client.exists('/never')
      await new Promise(() => {})
    },
    /worker has not ended 60000 ms after its signal aborted.*; its last call was exists \/never/,
  ],
  [
    'opens a socket',
    () => void connectSocket(80, 'example.org'),
    'worker opens a socket to example.org:80, which no simulation has',
  ],
  [
    'connects elsewhere',
    async () => void (await connect('zk.example.org:2181')),
    'worker connects to zk.example.org, not to its connectString',
  ],
])('a program that %s is reported by its name', async (_, main, message) => {
  const error = await failureOf(calm, ({ program }) => program('worker', main))
  expect(error.message).toMatch(message)
  expect(error.seed).toBe(1)
})

test('a program that is not the same twice is reported with the first difference', async () => {
  let runs = 0
  const error = await failureOf(calm, ({ program }) => {
    program(1, ({ log }) => log(`run ${++runs}`))
  })
  expect(error.message).toContain('the programs are not deterministic')
  expect(error.message).toMatch(/first .*program-1: run 1\n.*second .*program-1: run 2/)
})

test('a program that waits for real I/O does not stop the run', async () => {
  const error = await failureOf({ ...calm, finishMs: 1 }, ({ program }) => {
    program('reader', async ({ log }) => {
      for (;;) log(`${(await readFile(new URL(import.meta.url))).length}`)
    })
  })
  expect(error.message).toMatch(/not deterministic|reader has not ended/)
})

test('a check must be synchronous, and programs are given at the beginning', async () => {
  const late = await failureOf(calm, ({ program, check }) => {
    program(1, () => {})
    // oxlint-disable-next-line require-await
    check('later', async () => true)
  })
  expect(late.message).toContain('use atEnd() for others')
  await expect(simulate(calm, () => {})).rejects.toThrow('the scenario has no program')
  const scenario = ({ program }: Scenario): void => {
    program(1, () => program(1, () => {}))
  }
  expect((await failureOf(calm, scenario)).message).toContain('before the run begins')
})

test('wrong options are refused by name', async () => {
  const run = (options: object): Promise<unknown> =>
    simulate(options, ({ program }) => program(1, () => {}))
  await expect(run({ seedz: 1 })).rejects.toThrow(
    'simulate has no option seedz; did you mean seeds?',
  )
  await expect(run({ faults: ['fire'] })).rejects.toThrow('unknown fault fire')
  await expect(run({ servers: 2 })).rejects.toThrow('servers must be')
  await expect(run({ seeds: 0 })).rejects.toThrow('seeds must be integers')
})

test('a signal ends the simulation between two runs', async () => {
  const controller = new AbortController()
  const onRun = (): void => controller.abort(new Error('enough'))
  const { signal } = controller
  const running = simulate({ ...calm, seed: undefined, seeds: 5, signal, onRun }, ({ program }) =>
    program(1, () => {}),
  )
  await expect(running).rejects.toThrow('enough')
})
