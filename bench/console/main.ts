/**
 * The console with a million znodes: how long the first view, a node with 300,000 children and searches
 * take in a real browser, how much memory the page needs, and what other clients of the server
 * notice of it. Rounds with and without the console take turns.
 *
 *     npm run bench:console -- [--znodes 1000000] [--children 300000] [--rounds 4]
 *
 * It uses the Chromium that CHROMIUM names, or Debian's, which it installs if it is missing.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import type { CDPSession, Locator, Page } from 'playwright-core'
import { launchChromium } from '../../interop/src/chromium.ts'
import { zabraCommand } from '../../interop/src/commands.ts'
import { ManagedServer } from '../../interop/src/servers.ts'
import { textTable } from '../../interop/src/text-table.ts'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'

const { values } = parseArgs({
  options: {
    znodes: { type: 'string', default: '1000000' },
    children: { type: 'string', default: '300000' },
    rounds: { type: 'string', default: '4' },
  },
})
const znodes = Number(values.znodes)
const children = Number(values.children)
const rounds = Number(values.rounds)
const atOnce = 2000
const patienceMs = 120_000
const roundMs = 10_000

const [adminPort = 0] = await freePorts(1)
const server = new ManagedServer(zabraCommand(), {
  cfg: [
    'forceSync=no',
    'admin.enableServer=true',
    `admin.serverPort=${adminPort}`,
    'maxClientCnxns=0',
    '4lw.commands.whitelist=*',
  ].join('\n'),
})
await server.start()
try {
  await fill()
  const probe = await startProbe()
  const browser = await launchChromium('--js-flags=--expose-gc', '--enable-precise-memory-info')
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 800 } })
    page.setDefaultTimeout(patienceMs)
    const tool = await page.context().newCDPSession(page)
    console.log(textTable([['What', 'ms', 'Page memory, MiB'], ...(await stepsOf(page, tool))]))
    console.log()
    console.log(
      textTable([
        ['Other clients', 'Requests', 'p50, ms', 'p99, ms', 'Longest, ms'],
        ...(await compare(page, probe)),
      ]),
    )
  } finally {
    await browser.close()
    await probe.end()
  }
} finally {
  await server.dispose()
}

async function fill(): Promise<void> {
  const client = await RawClient.connect(server.port, { timeoutMs: 60_000 })
  const startMs = performance.now()
  let sent: Promise<unknown>[] = []
  const create = async (path: string): Promise<void> => {
    sent.push(client.create(path, '0123456789'))
    if (sent.length < atOnce) return
    await Promise.all(sent)
    sent = []
  }
  await create('/big')
  for (let i = 0; i < children; i++) await create(`/big/child-${String(i).padStart(7, '0')}`)
  const perFolder = 1000
  await create('/data')
  for (let left = znodes - children - 2, folder = 0; left > 0; folder++) {
    const top = `/data/folder-${String(folder).padStart(4, '0')}`
    await create(top)
    left--
    for (let i = 0; i < perFolder && left > 0; i++, left--) await create(`${top}/znode-${i}`)
  }
  await Promise.all(sent)
  await client.close()
  console.error(`filled with ${znodes} znodes in ${Math.round(performance.now() - startMs)} ms`)
}

interface Summary {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}
interface Probe {
  measure(work: () => Promise<void>): Promise<{ readonly read: Summary; readonly write: Summary }>
  end(): Promise<void>
}

async function startProbe(): Promise<Probe> {
  const program = join(import.meta.dirname, 'probe.ts')
  const options = ['--conditions=@zabra/source', '--import', 'tsx', program, String(server.port)]
  const child = spawn(process.execPath, options, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  return {
    async measure(during) {
      child.stdin.write('begin\n')
      await during()
      const answer = once(lines, 'line')
      child.stdin.write('end\n')
      return JSON.parse(((await answer) as [string])[0]) as { read: Summary; write: Summary }
    },
    async end() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
  }
}

async function memoryOf(tool: CDPSession): Promise<string> {
  await tool.send('HeapProfiler.collectGarbage')
  const { usedSize } = await tool.send('Runtime.getHeapUsage')
  return (usedSize / 1024 / 1024).toFixed(1)
}

function goTo(page: Page, hash: string): Promise<unknown> {
  return page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
}

function row(page: Page, name: string): Locator {
  return page.getByRole('treeitem', { name })
}

async function search(page: Page, text: string, inData: boolean): Promise<void> {
  await page.getByRole('checkbox', { name: 'in the data' }).setChecked(inData)
  await page.getByRole('searchbox').fill(text)
  await page.keyboard.press('Enter')
  await page.getByText(/found in [\d,]+ znodes/).waitFor()
}

async function stepsOf(page: Page, tool: CDPSession): Promise<string[][]> {
  const made: string[][] = []
  const step = async (what: string, doing: () => Promise<unknown>): Promise<void> => {
    const startMs = performance.now()
    await doing()
    const tookMs = Math.round(performance.now() - startMs)
    made.push([what, String(tookMs), await memoryOf(tool)])
  }
  await step('first view', async () => {
    await page.goto(`http://127.0.0.1:${adminPort}/`)
    await row(page, 'big').waitFor()
  })
  await step(`a node with ${children} children, its first rows`, async () => {
    await goTo(page, '#/tree?path=%2Fbig%2Fchild-0000000')
    await row(page, 'child-0000000').waitFor()
  })
  await step('its last rows, by the key End', async () => {
    await page.getByRole('tree').focus()
    await page.keyboard.press('End')
    await row(page, `child-${String(children - 1).padStart(7, '0')}`).waitFor()
  })
  await step('the middle, by the scroll bar', async () => {
    await page.evaluate(`(() => {
      const box = document.querySelector('.rows')
      box.scrollTop = box.scrollHeight / 2
    })()`)
    await row(page, `child-${String(Math.round(children / 2)).padStart(7, '0')}`).waitFor()
  })
  await goTo(page, '#/tree?path=%2F')
  await step('search by path, none found', () => search(page, 'no such name', false))
  await step('search by path, the first 500 found', () => search(page, 'child-00', false))
  await step('search in data, none found', () => search(page, 'no such text', true))
  await step('locks', async () => {
    await goTo(page, '#/locks')
    await page.getByRole('heading', { level: 2 }).first().waitFor()
  })
  await step('large znodes', async () => {
    await goTo(page, '#/load?show=large')
    await page.getByRole('region', { name: 'Most children' }).waitFor()
  })
  return made
}

/** The actions of a user who looks around. */
async function work(page: Page, untilMs: number): Promise<void> {
  for (let turn = 0; performance.now() < untilMs; turn++) {
    await goTo(page, '#/tree?path=%2F')
    await row(page, 'big').waitFor()
    const at = (turn * 4321) % children
    await goTo(page, `#/tree?path=%2Fbig%2Fchild-${String(at).padStart(7, '0')}`)
    await page.getByRole('heading', { name: 'Access' }).waitFor()
    if (turn % 2 === 0) await search(page, `child-00000${turn % 10}`, turn % 4 === 0)
    await goTo(page, '#/locks')
    await page.getByRole('heading', { level: 2 }).first().waitFor()
    await goTo(page, '#/load')
    await page.getByRole('heading', { level: 2 }).first().waitFor()
    await page.waitForTimeout(300)
  }
}

async function compare(page: Page, probe: Probe): Promise<string[][]> {
  const without: { read: Summary; write: Summary }[] = []
  const beside: { read: Summary; write: Summary }[] = []
  for (let round = 0; round < rounds; round++) {
    await page.goto('about:blank')
    without.push(await probe.measure(() => page.waitForTimeout(roundMs)))
    await page.goto(`http://127.0.0.1:${adminPort}/`)
    await row(page, 'big').waitFor()
    beside.push(await probe.measure(() => work(page, performance.now() + roundMs)))
  }
  return (['read', 'write'] as const).flatMap((kind) => [
    lineOf(
      `${kind}s, without the console`,
      without.map((each) => each[kind]),
    ),
    lineOf(
      `${kind}s, with the console at work`,
      beside.map((each) => each[kind]),
    ),
  ])
}

/** The median of the rounds, of the longest the greatest. */
function lineOf(what: string, all: readonly Summary[]): string[] {
  const median = (name: keyof Summary): number =>
    all.map((each) => each[name]).toSorted((a, b) => a - b)[all.length >> 1]!
  const count = all.reduce((sum, each) => sum + each.count, 0)
  const longest = Math.max(...all.map(({ max }) => max))
  return [
    what,
    String(count),
    median('p50').toFixed(2),
    median('p99').toFixed(2),
    longest.toFixed(1),
  ]
}
