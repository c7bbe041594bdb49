/**
 * The console in a real browser, against a live ensemble of three: every view in both themes, every
 * change, checked by a client of the ensemble; a server that goes away while the page is open.
 *
 *     npm run test:console -- [--pictures docs/console]
 *
 * It needs Chromium (CHROMIUM names it; /usr/bin/chromium otherwise).
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import { chromium, type Page } from 'playwright-core'
import { createFlags } from '@zabra/protocol'
import { digestOf } from '../../packages/server/src/auth/authenticator.ts'
import { EmbeddedEnsemble } from '../../packages/server/test/support/embedded-ensemble.ts'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { startServer } from '../../packages/server/src/embedded.ts'

const { values: options } = parseArgs({ options: { pictures: { type: 'string' } } })
const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)
const patienceMs = 15_000
const views = ['tree', 'ensemble', 'sessions', 'locks'] as const

let failures = 0
function check(what: string, isRight: boolean, found?: unknown): void {
  if (!isRight) failures++
  const more = isRight || found === undefined ? '' : `: ${JSON.stringify(found)}`
  console.log(`${isRight ? 'ok  ' : 'FAIL'} ${what}${more}`)
}

const [adminPort = 0] = await freePorts(1)
const ensemble = await EmbeddedEnsemble.start({
  'admin.identities': `digest:${digestOf('boss:secret')}`,
})
const settings = {
  'admin.enableServer': 'true',
  'admin.serverPort': String(adminPort),
  'admin.identities': `digest:${digestOf('boss:secret')}`,
}
// One server has the console, on a port that stays the same when it starts again.
const withConsole = ensemble.followers[0]!
async function startWithConsole(): Promise<void> {
  await ensemble.stop(withConsole)
  const members = Object.fromEntries(
    [...ensemble.servers.values()][0]!.config.configText
      .split('\n')
      .filter((line) => line.startsWith('server.'))
      .map((line) => line.split('=', 2) as [string, string]),
  )
  const server = await startServer({
    config: {
      tickTime: '400',
      initLimit: '10',
      syncLimit: '5',
      preAllocSize: '64',
      ...members,
      ...settings,
      myid: String(withConsole),
      dataDir: ensemble.folderOf(withConsole),
    },
  })
  ensemble.servers.set(withConsole, server)
}
await startWithConsole()

const client = await ensemble.connect(ensemble.leader)
const other = await ensemble.connect(ensemble.leader)
const heartbeat = setInterval(() => {
  for (const each of [client, other]) each.call('ping', {}).catch(() => {})
}, 1000)
const read = async (path: string): Promise<string> => {
  await client.must('sync', { path })
  const { data } = await client.must('getData', { path, watch: false })
  return Buffer.from(data ?? []).toString()
}
const exists = async (path: string): Promise<boolean> =>
  (await client.call('exists', { path, watch: false })).err === 0

await client.create('/app', '')
await client.create(
  '/app/config',
  '{"limit":9007199254740993,"names":["a","b"],"nested":{"on":true}}',
)
await client.create('/app/notes', 'one\ntwo\nthree\n')
await client.create('/app/binary', Buffer.from([0, 1, 2, 250, 251, 252]))
await client.create('/app/large', 'x'.repeat(200_000))
await client.create('/app/live', 'before')
await client.create('/app/members')
await client.create('/app/members/a', '10.0.0.1', createFlags.ephemeral)
await client.create('/many')
await Promise.all(
  Array.from({ length: 5000 }, (_, i) => client.create(`/many/n${String(i).padStart(5, '0')}`)),
)
const boss = { scheme: 'digest', id: digestOf('boss:secret') }
await client.create('/secret')
await client.create('/secret/inner', 'seen')
await client.must('setACL', { path: '/secret', acl: [{ perms: 31, id: boss }], version: -1 })
await client.create('/locks')
await client.create('/locks/report')
await client.create('/locks/report/_c_1-lock-', 'worker-1', createFlags.ephemeralSequential)
await other.create('/locks/report/_c_2-lock-', 'worker-2', createFlags.ephemeralSequential)
await client.create('/election')
await client.create('/election/a-latch-', 'node-a', createFlags.ephemeralSequential)
await other.create('/election/b-latch-', 'node-b', createFlags.ephemeralSequential)

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

const base = `http://127.0.0.1:${adminPort}/`
const foreign: string[] = []
const errors: string[] = []
async function open(theme: 'light' | 'dark', width = 1200, height = 760): Promise<Page> {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
  })
  const page = await context.newPage()
  page.setDefaultTimeout(patienceMs)
  page.on('request', (request) => {
    if (!request.url().startsWith(base)) foreign.push(request.url())
  })
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) errors.push(message.text())
  })
  await page.goto(base)
  await page.locator('.status.live').waitFor()
  return page
}
const goTo = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
const show = async (page: Page, path: string): Promise<void> => {
  await goTo(page, `#/tree?${new URLSearchParams({ path }).toString()}`)
  await page
    .getByRole('region', { name: `Znode ${path}`, exact: true })
    .getByRole('heading', { name: 'Access' })
    .waitFor()
}
async function axe(page: Page, what: string): Promise<void> {
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
async function picture(page: Page, name: string): Promise<void> {
  if (options.pictures !== undefined) {
    await page.screenshot({ path: `${options.pictures}/${name}.png` })
  }
}

try {
  const page = await open('light')
  const policy = await page.request.get(base)
  check(
    'nothing but own files may be loaded',
    policy.headers()['content-security-policy']?.includes("default-src 'none'") === true,
  )
  const first = await page.evaluate<number>(`
    performance.getEntriesByType('resource')
      .filter(({ name }) => name.includes('/assets/'))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`)
  check(`the first load is ${first} bytes, at most 60 KiB`, first > 0 && first <= 60 * 1024)

  // --- changes -------------------------------------------------------------------------------
  await show(page, '/app')
  await page.getByRole('button', { name: 'New child' }).click()
  await page.getByLabel('Name', { exact: true }).fill('made')
  await page.getByLabel('Data', { exact: true }).last().fill('by hand')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('region', { name: 'Znode /app/made' }).waitFor()
  check('a znode is created', (await read('/app/made')) === 'by hand')

  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Data of /app/made').fill('edited')
  await page.getByRole('button', { name: 'Save over version 0' }).click()
  await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  check('data is saved', (await read('/app/made')) === 'edited')

  await show(page, '/app/notes')
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Data of /app/notes').fill('one\ntwo\nthree, mine\n')
  await client.must('setData', {
    path: '/app/notes',
    data: Buffer.from('one, theirs\ntwo\nthree\n'),
    version: -1,
  })
  await page.getByRole('button', { name: 'Save over version 0' }).click()
  await page.getByText('Somebody else has changed it').waitFor()
  check('a conflict changes nothing', (await read('/app/notes')).startsWith('one, theirs'))
  await axe(page, 'a conflict')
  await picture(page, 'conflict-light')
  await page.getByRole('button', { name: 'Merge both' }).click()
  await page.getByRole('button', { name: 'Save over version 1' }).click()
  await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  check('both changes are merged', (await read('/app/notes')) === 'one, theirs\ntwo\nthree, mine\n')

  await show(page, '/app/made')
  await page.getByRole('button', { name: 'Edit access' }).click()
  await page.getByLabel('Delete', { exact: true }).uncheck()
  await page.getByRole('button', { name: 'Save access' }).click()
  await page.getByRole('button', { name: 'Edit access' }).waitFor()
  await client.must('sync', { path: '/' })
  const { acl } = await client.must('getACL', { path: '/app/made' })
  check('an ACL is saved', acl[0]?.perms === 31 - 8, acl)

  await client.create('/app/made/child')
  await show(page, '/app/made')
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('This deletes 2 znodes').waitFor()
  await axe(page, 'a dialog')
  await picture(page, 'delete-light')
  await page.locator('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page
    .getByText('The ACL does not allow this')
    .or(page.getByText('could not be deleted'))
    .waitFor()
  check('what the ACL forbids is not deleted', await exists('/app/made'))
  await page.keyboard.press('Escape')
  await client.must('setACL', {
    path: '/app/made',
    acl: [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }],
    version: -1,
  })
  await show(page, '/app')
  await show(page, '/app/made')
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('This deletes 2 znodes').waitFor()
  await page.locator('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('region', { name: 'Znode /app', exact: true }).waitFor()
  await client.must('sync', { path: '/' })
  check('a subtree is deleted', !(await exists('/app/made')))

  // --- what is shown -------------------------------------------------------------------------
  await show(page, '/app/config')
  check(
    'large numbers stay as they are',
    (await page.getByLabel('Data', { exact: true }).innerText()).includes(
      '"limit": 9007199254740993,',
    ),
  )
  await show(page, '/app/binary')
  await page.getByText('00 01 02 fa fb fc').waitFor()
  check(
    'bytes are not edited as text',
    (await page.getByRole('button', { name: 'Edit', exact: true }).count()) === 0,
  )
  await show(page, '/app/large')
  await page.getByText('These are the first 64 KiB of 195 KiB').waitFor()
  check(
    'a part is not edited as if it were whole',
    (await page.getByRole('button', { name: 'Edit', exact: true }).count()) === 0,
  )
  await page.getByRole('button', { name: 'Load all' }).click()
  await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  await show(page, '/app/live')
  await page.getByText('before').waitFor()
  await client.must('setData', { path: '/app/live', data: Buffer.from('after'), version: -1 })
  await page.getByText('after', { exact: true }).waitFor()
  check('a change by another client is shown', true)
  await show(page, '/secret/inner')
  await page.getByText('The ACL hides the children').waitFor()
  check(
    'a parent that hides its children does not break the tree',
    (await page.getByLabel('Data', { exact: true }).innerText()) === 'seen',
  )

  // --- the tree by keyboard, and a long one ----------------------------------------------------
  await show(page, '/many')
  const tree = page.getByRole('tree')
  await tree.focus()
  await page.keyboard.press('ArrowRight')
  await page.getByText('4,500 more').or(page.getByText('n00000')).first().waitFor()
  await page.keyboard.press('ArrowDown')
  await page.getByRole('region', { name: 'Znode /many/n00000' }).waitFor()
  check('keys move through the tree', page.url().includes('n00000'))
  const rowsInPage = await page.getByRole('treeitem').count()
  check(`of 500 rows ${rowsInPage} are in the page`, rowsInPage < 120)
  await page.keyboard.press('ArrowLeft')
  await page.getByRole('region', { name: 'Znode /many', exact: true }).waitFor()
  await page.keyboard.press('ArrowLeft')
  await page.getByRole('searchbox').fill('n0123')
  await page.keyboard.press('Enter')
  await page.getByText('10 found in 5,001 znodes').waitFor()
  check('search finds by path', true)
  await page.locator('.hits').getByRole('button', { name: 'Close' }).click()

  // --- every view, in both themes, and on a phone ----------------------------------------------
  for (const theme of ['light', 'dark'] as const) {
    const themed = await open(theme)
    for (const view of views) {
      await goTo(themed, `#/${view}`)
      if (view === 'tree') await show(themed, '/app/config')
      else await themed.getByRole('heading', { level: 2 }).first().waitFor()
      await themed.waitForTimeout(view === 'ensemble' ? 6000 : 300)
      await axe(themed, `${view}, ${theme}`)
      await picture(themed, `${view}-${theme}`)
    }
    await themed.context().close()
  }
  const phone = await open('light', 390, 800)
  await show(phone, '/app/config')
  await axe(phone, 'the tree on a phone')
  check(
    'nothing is wider than a phone',
    await phone.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
  )
  await picture(phone, 'phone-light')
  await phone.context().close()

  // --- locks and sessions --------------------------------------------------------------------
  await goTo(page, '#/locks')
  const card = page.locator('article', { hasText: '/locks/report' })
  await card.waitFor()
  const lines = await card.locator('li').allInnerTexts()
  check(
    'locks show holder and waiter in order',
    /holds\s+worker-1/.test(lines[0] ?? '') && /waits\s+worker-2/.test(lines[1] ?? ''),
    lines,
  )
  const victim = await RawClient.connect(ensemble.server(withConsole).clientPort)
  await victim.create('/app/victim', '', createFlags.ephemeral)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('User').fill('boss')
  await page.getByLabel('Password').fill('secret')
  await page.locator('dialog').getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('you may administer').waitFor()
  await goTo(page, '#/sessions')
  const id = `0x${BigInt.asUintN(64, victim.sessionId).toString(16)}`
  await page.getByRole('button', { name: `End session ${id}` }).click()
  await axe(page, 'the end of a session')
  await page.locator('dialog').getByRole('button', { name: 'End session' }).click()
  await victim.ended
  await client.must('sync', { path: '/' })
  check('a session is ended, with its ephemerals', !(await exists('/app/victim')))

  // --- a server that goes away -----------------------------------------------------------------
  await show(page, '/app/live')
  await ensemble.stop(withConsole)
  await page.getByText('The connection to the server is lost. What you see').waitFor()
  check(
    'the loss of the server is shown, and what was seen stays',
    (await page.getByLabel('Data', { exact: true }).innerText()) === 'after',
  )
  await axe(page, 'a lost connection')
  await picture(page, 'lost-light')
  await client.must('setData', { path: '/app/live', data: Buffer.from('meanwhile'), version: -1 })
  await startWithConsole()
  await page.getByText('meanwhile', { exact: true }).waitFor()
  check(
    'it connects again and shows what has changed',
    (await page.getByText('The connection to the server is lost. What').count()) === 0,
  )

  check('nothing is loaded from elsewhere', foreign.length === 0, foreign)
  check('no error in the page', errors.length === 0, errors)
} finally {
  clearInterval(heartbeat)
  await browser.close()
  await Promise.all([client.close(), other.close()])
  await ensemble.dispose()
}
console.log(failures === 0 ? 'all is well' : `${failures} checks failed`)
process.exitCode = failures === 0 ? 0 : 1
