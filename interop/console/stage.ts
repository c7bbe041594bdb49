/** An ensemble of three whose servers all have a console, a browser, and what is checked. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type Page } from 'playwright-core'
import { digestOf } from '../../packages/server/src/auth/authenticator.ts'
import { EmbeddedEnsemble } from '../../packages/server/test/support/embedded-ensemble.ts'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import type { RawClient } from '../../packages/server/test/support/raw-client.ts'

export const patienceMs = 15_000
export const boss = { scheme: 'digest', id: digestOf('boss:secret') }

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

export type Theme = 'light' | 'dark'

export interface OpenOptions {
  readonly width?: number
  readonly height?: number
  /** The server that the page comes from. */
  readonly at?: number
}

export class Stage implements AsyncDisposable {
  readonly ensemble: EmbeddedEnsemble
  /** The server that pages come from unless a test says otherwise; it does not lead. */
  readonly withConsole: number
  failures = 0
  /** Requests to others than the members of the ensemble. */
  readonly foreign: string[] = []
  readonly errors: string[] = []
  private readonly adminPorts: readonly number[]
  private readonly browser: Browser
  private readonly pictures: string | undefined
  private readonly clients: RawClient[] = []
  private readonly heartbeat: NodeJS.Timeout

  private constructor(
    ensemble: EmbeddedEnsemble,
    adminPorts: readonly number[],
    browser: Browser,
    pictures: string | undefined,
  ) {
    this.ensemble = ensemble
    this.adminPorts = adminPorts
    this.browser = browser
    this.pictures = pictures
    this.withConsole = ensemble.followers[0]!
    this.heartbeat = setInterval(() => {
      for (const each of this.clients) each.call('ping', {}).catch(() => {})
    }, 1000)
  }

  static async open(pictures: string | undefined): Promise<Stage> {
    const adminPorts = await freePorts(3)
    const ensemble = await EmbeddedEnsemble.start(
      {
        'admin.enableServer': 'true',
        'admin.identities': `digest:${boss.id}`,
        maxClientCnxns: '0',
      },
      {
        hasClientPorts: true,
        settingsOf: (id) => ({ 'admin.serverPort': String(adminPorts[id - 1]) }),
      },
    )
    const browser = await chromium.launch({
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    })
    return new Stage(ensemble, adminPorts, browser, pictures)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.heartbeat)
    await this.browser.close()
    await Promise.all(this.clients.map((each) => each.close()))
    await this.ensemble.dispose()
  }

  check(what: string, isRight: boolean, found?: unknown): void {
    if (!isRight) this.failures++
    const more = isRight || found === undefined ? '' : `: ${JSON.stringify(found)}`
    console.log(`${isRight ? 'ok  ' : 'FAIL'} ${what}${more}`)
  }

  /** Where the console of a server is. */
  base(id = this.withConsole): string {
    return `http://127.0.0.1:${this.adminPorts[id - 1]}/`
  }

  /** A client that is kept alive. */
  async connect(id = this.ensemble.leader): Promise<RawClient> {
    const client = await this.ensemble.connect(id)
    this.clients.push(client)
    return client
  }

  async page(theme: Theme, { width = 1200, height = 760, at }: OpenOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({
      colorScheme: theme,
      viewport: { width, height },
    })
    const page = await context.newPage()
    page.setDefaultTimeout(patienceMs)
    const bases = this.adminPorts.map((port) => `http://127.0.0.1:${port}/`)
    page.on('request', (request) => {
      if (!bases.some((base) => request.url().startsWith(base))) this.foreign.push(request.url())
    })
    page.on('pageerror', (error) => this.errors.push(error.message))
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) this.errors.push(message.text())
    })
    await page.goto(this.base(at))
    await page.locator('.status.live').waitFor()
    return page
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
    this.check(`axe finds nothing in ${what}`, found.length === 0, found)
  }

  async picture(page: Page, name: string): Promise<void> {
    if (this.pictures !== undefined) {
      await page.screenshot({ path: `${this.pictures}/${name}.png` })
    }
  }

  /** Nothing of a view is cut off at the side. */
  async checkWidth(page: Page, what: string): Promise<void> {
    this.check(
      `${what} is not wider than the page`,
      await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
    )
  }
}

export const goTo = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`)

export async function show(page: Page, path: string): Promise<void> {
  await goTo(page, `#/tree?${new URLSearchParams({ path }).toString()}`)
  await page
    .getByRole('region', { name: `Znode ${path}`, exact: true })
    .getByRole('heading', { name: 'Access' })
    .waitFor()
}

export async function signIn(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('User').fill('boss')
  await page.getByLabel('Password').fill('secret')
  await page.locator('dialog').getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('you may administer').waitFor()
}

/** A session as the console writes it. */
export const sessionText = ({ sessionId }: RawClient): string =>
  `0x${BigInt.asUintN(64, sessionId).toString(16)}`
