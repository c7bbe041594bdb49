/** Shared by the suites of the console: an ensemble of three, clients of it, and a browser. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { files } from '@zabra/console'
import type { Browser, Page } from 'playwright-core'
import { digestOf } from '../../packages/server/src/auth/authenticator.ts'
import { EmbeddedEnsemble } from '../../packages/server/test/support/embedded-ensemble.ts'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import type { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { launchChromium } from '../src/chromium.ts'

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)
const patienceMs = 15_000

/** A session as the console writes it. */
export const sessionText = ({ sessionId }: RawClient): string =>
  `0x${BigInt.asUintN(64, sessionId).toString(16)}`

/** The identity of the administrator of every server of the stage. */
export const boss = { scheme: 'digest', id: digestOf('boss:secret') }

export const counts = { passed: 0, failed: 0 }

export function check(what: string, isRight: boolean, found?: unknown): void {
  if (isRight) counts.passed++
  else counts.failed++
  const more = isRight || found === undefined ? '' : `: ${JSON.stringify(found)}`
  console.log(`${isRight ? 'ok  ' : 'FAIL'} ${what}${more}`)
}

/** For what a page comes to by itself. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + patienceMs
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`it did not come to ${String(isSo)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** A page has the files of all views some seconds after the first: only then it can do without its server. */
export async function untilAllLoaded(page: Page): Promise<void> {
  const scripts = Object.keys(files).filter((path) => path.endsWith('.js'))
  await until(async () => {
    const loaded = await page.evaluate<string[]>(
      `performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)`,
    )
    return scripts.every((path) => loaded.includes(path))
  })
}

export type Theme = 'light' | 'dark'

/** Every server has a console; the pages are those of a follower. */
export class Stage implements AsyncDisposable {
  readonly ensemble: EmbeddedEnsemble
  readonly client: RawClient
  readonly other: RawClient
  /** The server whose console the pages show. */
  readonly withConsole: number
  readonly base: string
  readonly browser: Browser
  /** Requests to anything but a server of the ensemble. */
  readonly foreign: string[] = []
  readonly errors: string[] = []
  /** Clients that are kept alive. */
  private readonly kept: RawClient[]
  private readonly origins: readonly string[]
  private readonly pictures: string | undefined
  private readonly heartbeat: NodeJS.Timeout

  private constructor(
    ensemble: EmbeddedEnsemble,
    [client, other]: readonly [RawClient, RawClient],
    adminPorts: readonly number[],
    browser: Browser,
    pictures: string | undefined,
  ) {
    this.ensemble = ensemble
    this.client = client
    this.other = other
    this.withConsole = ensemble.followers[0]!
    this.origins = adminPorts.map((port) => `http://127.0.0.1:${port}/`)
    this.base = this.origins[this.withConsole - 1]!
    this.browser = browser
    this.pictures = pictures
    this.kept = [client, other]
    this.heartbeat = setInterval(() => {
      for (const each of this.kept) each.call('ping', {}).catch(() => {})
    }, 1000)
  }

  static async start(pictures: string | undefined): Promise<Stage> {
    const adminPorts = await freePorts(3)
    const ensemble = await EmbeddedEnsemble.start(
      {
        'admin.enableServer': 'true',
        'admin.identities': `${boss.scheme}:${boss.id}`,
        // A machine that is busy with other suites must not cost a leader its followers.
        syncLimit: '25',
      },
      {
        hasClientPorts: true,
        settingsOf: (id) => ({ 'admin.serverPort': String(adminPorts[id - 1]) }),
      },
    )
    // Servers find the consoles of the others by asking; a page may go to those that are found.
    const policyOf = async (port: number): Promise<string> => {
      const response = await fetch(`http://127.0.0.1:${port}/`)
      return response.headers.get('content-security-policy') ?? ''
    }
    await until(async () => {
      const policies = await Promise.all(adminPorts.map(policyOf))
      return policies.every((policy) => policy.split('http://').length === adminPorts.length)
    })
    const clients = [
      await ensemble.connect(ensemble.leader),
      await ensemble.connect(ensemble.leader),
    ] as const
    const browser = await launchChromium()
    return new Stage(ensemble, clients, adminPorts, browser, pictures)
  }

  async dispose(): Promise<void> {
    clearInterval(this.heartbeat)
    await this.browser.close()
    await Promise.all(this.kept.map((each) => each.close()))
    await this.ensemble.dispose()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }

  /** One more client, of this server. */
  async connect(id: number): Promise<RawClient> {
    const client = await this.ensemble.connect(id)
    this.kept.push(client)
    return client
  }

  /** Where the console of a server is. */
  baseOf(id: number): string {
    return this.origins[id - 1]!
  }

  /** The data of a znode as the leader has it. */
  async read(path: string): Promise<string> {
    await this.client.must('sync', { path })
    const { data } = await this.client.must('getData', { path, watch: false })
    return Buffer.from(data ?? []).toString()
  }

  async exists(path: string): Promise<boolean> {
    await this.client.must('sync', { path: '/' })
    return (await this.client.call('exists', { path, watch: false })).err === 0
  }

  async set(path: string, data: string | Uint8Array): Promise<void> {
    await this.client.must('setData', { path, data: Buffer.from(data), version: -1 })
  }

  /** A page that shows the console, connected. */
  async open(theme: Theme, width = 1200, height = 760): Promise<Page> {
    const context = await this.browser.newContext({
      colorScheme: theme,
      viewport: { width, height },
    })
    const page = await context.newPage()
    page.setDefaultTimeout(patienceMs)
    page.on('request', (request) => {
      const url = request.url()
      const isOwn = this.origins.some((origin) => url.startsWith(origin))
      // A blob is made by the page itself, to save a file.
      if (!isOwn && !url.startsWith('blob:')) this.foreign.push(url)
    })
    page.on('pageerror', (error) => this.errors.push(error.message))
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) this.errors.push(message.text())
    })
    await page.goto(this.base)
    await page.locator('.status.live').waitFor()
    return page
  }

  goTo(page: Page, hash: string): Promise<unknown> {
    return page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  }

  /** Shows a znode in the tree. */
  async show(page: Page, path: string): Promise<void> {
    await this.goTo(page, `#/tree?${new URLSearchParams({ path }).toString()}`)
    await page
      .getByRole('region', { name: `Znode ${path}`, exact: true })
      .getByRole('heading', { name: 'Access' })
      .waitFor()
  }

  async signIn(page: Page, user = 'boss', password = 'secret'): Promise<void> {
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByLabel('User').fill(user)
    await page.getByLabel('Password').fill(password)
    await page.locator('dialog').getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: `Sign out ${user}` }).waitFor()
  }

  async axe(page: Page, what: string): Promise<void> {
    await page.evaluate(axeSource)
    const found = await page.evaluate(async () => {
      const { axe: tool } = globalThis as unknown as {
        axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
      }
      const { violations } = await tool.run()
      return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)}`)
    })
    check(`axe finds nothing in ${what}`, found.length === 0, found)
  }

  /** Nothing is cut off at the right. */
  async fits(page: Page, what: string): Promise<void> {
    const widths = await page.evaluate<number[]>(
      '[document.documentElement.scrollWidth, innerWidth]',
    )
    check(`${what} is not wider than the window`, widths[0]! <= widths[1]!, widths)
  }

  /** Whether what is shown should look like a day's work. */
  get takesPictures(): boolean {
    return this.pictures !== undefined
  }

  async picture(page: Page, name: string): Promise<void> {
    if (this.pictures !== undefined) {
      await page.screenshot({ path: `${this.pictures}/${name}.png` })
    }
  }
}
