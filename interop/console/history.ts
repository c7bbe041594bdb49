/** The past: changes, versions, the tree at a moment, differences; what is put back, and who may. */
import { createFlags } from '@zabra/protocol'
import type { Page } from 'playwright-core'
import { startServer } from '../../packages/server/src/embedded.ts'
import { boss, check, until, type Stage } from './stage.ts'

const open = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]
const changeLines = (page: Page) => page.locator('.changes .change')
const textsOf = async (page: Page): Promise<string[]> =>
  (await changeLines(page).locator('.summary').allInnerTexts()).map((text) =>
    text.replace(/\s+/g, ' '),
  )
const query = (of: Record<string, string>): string => new URLSearchParams(of).toString()

const configs = [
  { limit: 10, mode: 'careful', hosts: ['a.example', 'b.example'], retries: 3 },
  { limit: 25, mode: 'careful', hosts: ['a.example', 'b.example'], retries: 3 },
  { limit: 25, mode: 'fast', hosts: ['a.example', 'b.example', 'c.example'], retries: 5 },
]

interface Written {
  /** Before anything was deleted. */
  readonly whole: string
  readonly last: string
}

/** A past to look at. */
async function write({ client, other }: Stage): Promise<Written> {
  await client.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from('ann:secret') })
  const set = (path: string, data: string | Uint8Array): Promise<unknown> =>
    client.must('setData', { path, data: Buffer.from(data), version: -1 })
  await client.create('/shop', '')
  await client.create('/shop/config', JSON.stringify(configs[0]))
  await client.create('/shop/notes', Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n'))
  await client.create(
    '/shop/binary',
    Buffer.from(Array.from({ length: 80 }, (_, i) => (i * 37) % 256)),
  )
  await client.create('/shop/large', 'x'.repeat(300_000))
  await client.create('/shop/workers', '')
  await client.create('/shop/workers/a', '10.0.0.1:80')
  await client.create('/shop/workers/b', '10.0.0.2:80')
  await other.create('/shop/live', '', createFlags.ephemeral)
  await set('/shop/config', JSON.stringify(configs[1]))
  await set('/shop/config', JSON.stringify(configs[2]))
  await set(
    '/shop/notes',
    Array.from({ length: 40 }, (_, i) => (i === 20 ? 'a new line' : `line ${i}`)).join('\n'),
  )
  await set(
    '/shop/binary',
    Buffer.from(Array.from({ length: 80 }, (_, i) => (i === 40 ? 0 : (i * 37) % 256))),
  )
  await set('/shop/large', 'y'.repeat(300_000))
  const restricted = [...open.slice(0, 0), { perms: 1, id: open[0]!.id }, { perms: 31, id: boss }]
  await client.create('/shop/prices', 'one\ntwo\n')
  await client.must('setACL', { path: '/shop/prices', acl: restricted, version: -1 })
  // Only the administrator may read this, then and now.
  await client.create('/shop/secret', 'hidden value')
  await client.must('setACL', { path: '/shop/secret', acl: [{ perms: 31, id: boss }], version: -1 })
  const { zxid: whole } = await client.call('exists', { path: '/shop', watch: false })
  await client.call('multi', [
    { type: 2, request: { path: '/shop/workers/a', version: -1 } },
    { type: 2, request: { path: '/shop/workers/b', version: -1 } },
    { type: 2, request: { path: '/shop/workers', version: -1 } },
  ])
  await client.create('/shop/after', 'made later')
  const { zxid: last } = await client.call('exists', { path: '/shop', watch: false })
  return { whole: `0x${whole.toString(16)}`, last: `0x${last.toString(16)}` }
}

export async function history(stage: Stage): Promise<void> {
  const written = await write(stage)
  const page = await stage.open('light')
  await changes(stage, page)
  await versions(stage, page)
  await moment(stage, page, written)
  await difference(stage, page, written)
  await conflicts(stage, page)
  await otherServer(stage)
  await rights(stage, written)
  await roles(stage)
  await looks(stage, written)
}

async function changes(stage: Stage, page: Page): Promise<void> {
  const { client } = stage
  await stage.goTo(page, `#/history?${query({ path: '/shop' })}`)
  await changeLines(page).nth(10).waitFor()
  const lines = await textsOf(page)
  check(
    'the newest change is at the top',
    lines[0]?.includes('created /shop/after') === true,
    lines[0],
  )
  await changeLines(page).getByText('ann at 127.0.0.1').first().waitFor()
  check('a change says who made it, also where the client is at another server', true)
  check(
    'parts of a transaction say so',
    lines.filter((line) => line.includes('deleted /shop/workers') && /[123]\/3/.test(line))
      .length === 3,
    lines,
  )
  check('what may not be read now is not listed', !lines.some((line) => line.includes('secret')))

  await page.locator('.live-mark.on').waitFor()
  await client.create('/shop/by-hand', 'live')
  await page.getByText('/shop/by-hand').waitFor()
  check(
    'a change appears at the top as it happens',
    (await textsOf(page))[0]?.includes('by-hand') === true,
  )

  await changeLines(page).first().getByRole('button').first().focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await changeLines(page).nth(1).locator('.detail').waitFor()
  await page.keyboard.press('Enter')
  await changeLines(page).nth(1).locator('.detail').waitFor({ state: 'detached' })
  check('changes are opened by keyboard', true)

  // --- filters, in the address ---
  await page.getByRole('button', { name: 'Deleted', exact: true }).click()
  await page.waitForURL(/kinds=delete/)
  await page.getByRole('button', { name: 'Deleted', exact: true, pressed: true }).waitFor()
  await until(async () => (await changeLines(page).count()) === 3)
  check('kinds filter, and are in the address', true)
  await page.getByLabel('Path', { exact: true }).fill('/shop/workers/a')
  await page.getByLabel('Path', { exact: true }).press('Enter')
  await until(async () => (await changeLines(page).count()) === 1)
  check('a path filters', page.url().includes('path=%2Fshop%2Fworkers%2Fa'), page.url())
  await page.reload()
  await until(async () => (await changeLines(page).count()) === 1)
  check('a link with filters shows the same', true)
  await page.getByRole('button', { name: 'Save filter' }).click()
  const saved = page.getByRole('navigation', { name: 'Saved filters' }).getByRole('link')
  await stage.goTo(page, '#/history')
  await changeLines(page).nth(10).waitFor()
  await saved.getByText('/shop/workers/a, deleted').click()
  await until(async () => (await changeLines(page).count()) === 1)
  check('filters are saved in the browser', true)
  await stage.axe(page, 'a saved filter')
  await page.getByRole('button', { name: 'Saved', exact: true }).click()
  await saved.waitFor({ state: 'detached' })
  await page.getByLabel('From', { exact: true }).fill('nonsense')
  check(
    'a point that is none is refused with examples',
    await page.getByText('0x…, 2026-01-31 08:15').isVisible(),
  )
  await page.getByLabel('From', { exact: true }).fill('')
  await page.getByRole('button', { name: 'Clear' }).click()
  await changeLines(page).nth(10).waitFor()
  check('filters can be cleared', !page.url().includes('?'), page.url())

  // --- far into the past ---
  await Promise.all(
    Array.from({ length: 350 }, (_, i) =>
      client.must('setData', { path: '/shop/after', data: Buffer.from(`${i}`), version: -1 }),
    ),
  )
  await stage.goTo(page, `#/history?${query({ path: '/shop/after' })}`)
  await page.getByText('version 350').waitFor()
  for (let i = 0; i < 20; i++) {
    if (await page.getByText('There is nothing older').isVisible()) break
    await page.locator('.page').evaluate((box) => box.scrollTo(0, box.scrollHeight))
    await page.waitForTimeout(100)
  }
  await page.getByText('There is nothing older').waitFor()
  check('scrolling loads older changes, each once', (await changeLines(page).count()) === 351)
  await client.must('setData', { path: '/shop/after', data: Buffer.from('more'), version: -1 })
  const waiting = page.getByRole('button', { name: '1 new change' })
  await waiting.waitFor()
  check('what somebody reads does not move', (await changeLines(page).count()) === 351)
  await waiting.click()
  await page.getByText('version 351').waitFor()
  check('new changes are shown when asked for', (await changeLines(page).count()) === 352)

  // --- a change ---
  await stage.goTo(page, `#/history?${query({ path: '/shop/config', kinds: 'set' })}`)
  await until(async () => (await changeLines(page).count()) === 2)
  await changeLines(page).first().getByRole('button').first().click()
  const diff = page.getByRole('region', { name: 'Difference' })
  await diff.waitFor()
  check(
    'a change shows the lines that it changed',
    (await diff.locator('ins').allInnerTexts()).includes('fast') &&
      (await diff.locator('del').allInnerTexts()).includes('careful'),
    await diff.innerText(),
  )
  await stage.axe(page, 'an open change')
  await stage.picture(page, 'history-change-light')
}

async function versions(stage: Stage, page: Page): Promise<void> {
  await page.getByRole('link', { name: 'All versions' }).click()
  await page
    .getByRole('region', { name: 'Comparison' })
    .getByRole('region', { name: 'Difference' })
    .waitFor()
  const list = page.getByRole('region', { name: 'Versions of /shop/config' }).locator('li')
  check('all versions are listed', (await list.count()) === 3)
  await stage.axe(page, 'versions')
  await list.nth(2).locator('input[name=old]').check()
  await page.waitForURL(/old=/)
  await page.getByRole('region', { name: 'Difference' }).locator('ins', { hasText: '25' }).waitFor()
  check('any two versions are compared', true)
  await page.getByRole('button', { name: 'One column' }).click()
  await stage.axe(page, 'a difference in one column')
  await page.getByRole('button', { name: 'Side by side' }).click()

  await stage.goTo(page, `#/history?${query({ show: 'versions', path: '/shop/notes' })}`)
  await page.getByRole('button', { name: '17 lines that are the same' }).waitFor()
  check('lines far from a change are folded', true)
  await page.getByRole('button', { name: '17 lines that are the same' }).click()
  await page.getByText('line 3', { exact: true }).first().waitFor()
  await stage.goTo(page, `#/history?${query({ show: 'versions', path: '/shop/binary' })}`)
  await page.getByRole('button', { name: 'Hex', pressed: true }).waitFor()
  check(
    'bytes are compared as bytes',
    (await page.getByRole('button', { name: 'Text', exact: true }).isDisabled()) &&
      (await page.getByRole('region', { name: 'Difference' }).locator('tr.changed').count()) === 1,
  )
  await stage.goTo(page, `#/history?${query({ show: 'versions', path: '/shop/large' })}`)
  await page.getByText('These versions have 586 KiB of data').waitFor()
  check('large values are not loaded unasked', true)
  await page.getByRole('button', { name: 'Load and compare them' }).click()
  await page.getByRole('region', { name: 'Difference' }).waitFor()

  // --- restore ---
  await stage.goTo(page, `#/history?${query({ show: 'versions', path: '/shop/config' })}`)
  await page.getByRole('button', { name: 'Restore the older one' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByRole('region', { name: 'Difference' }).waitFor()
  await stage.axe(page, 'the restore of a version')
  await stage.picture(page, 'history-restore-light')
  await dialog.getByRole('button', { name: 'Restore over version 2' }).click()
  await dialog.waitFor({ state: 'detached' })
  check(
    'a version is restored',
    (await stage.read('/shop/config')) === JSON.stringify(configs[1]),
    await stage.read('/shop/config'),
  )
  await page.getByText('version 3').first().waitFor()
  check('the list of versions goes on', true)

  // --- undelete ---
  await stage.goTo(page, `#/history?${query({ show: 'versions', path: '/shop/workers' })}`)
  await page.getByRole('button', { name: 'Undelete' }).click()
  await dialog.getByText('3 znodes').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
}

async function conflicts(stage: Stage, page: Page): Promise<void> {
  await stage.set('/shop/config', '{"a":1}')
  await stage.set('/shop/config', '{"a":2}')
  await stage.goTo(page, `#/history?${query({ show: 'versions', path: '/shop/config' })}`)
  await page.getByRole('button', { name: 'Restore the older one' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByRole('button', { name: /Restore over version/ }).waitFor()
  await dialog.getByRole('region', { name: 'Difference' }).waitFor()
  await stage.set('/shop/config', '{"a":3}')
  await dialog.getByRole('button', { name: /Restore over version/ }).click()
  await dialog.getByText('Another client has changed it').waitFor()
  check(
    'a restore over another version changes nothing',
    (await stage.read('/shop/config')) === '{"a":3}',
  )
  await stage.axe(page, 'a conflict of a restore')
  await stage.picture(page, 'history-conflict-light')
  await dialog.getByRole('button', { name: /Restore over version/ }).click()
  await dialog.waitFor({ state: 'detached' })
  check(
    'it is restored when somebody has seen theirs',
    (await stage.read('/shop/config')) === '{"a":1}',
  )
}

async function moment(stage: Stage, page: Page, { whole }: Written): Promise<void> {
  await stage.goTo(page, `#/history?${query({ show: 'moment', at: whole, path: '/shop/workers' })}`)
  const then = page.getByRole('tree', { name: 'Tree of znodes then' })
  await then.getByText('workers').waitFor()
  check('the tree shows what is deleted', true)
  await page
    .getByRole('region', { name: 'Znode /shop/workers then' })
    .getByText('deleted since')
    .waitFor()
  check(
    'what may not be read is marked as hidden',
    await then.locator('.row', { hasText: 'secret' }).getByText('hidden').isVisible(),
  )
  check(
    'nothing can be changed in the past',
    (await page.getByRole('button', { name: 'Edit', exact: true }).count()) === 0 &&
      (await page.getByText('Nothing can be changed here.').isVisible()),
  )
  await stage.axe(page, 'the tree at a moment')
  await then.locator('.row', { hasText: 'workers' }).locator('.twist').click()
  await then.locator('.row', { hasText: /^b$/ }).click()
  await page.getByText('10.0.0.2:80').waitFor()
  check('a deleted znode is read as it was', true)
  await page.getByRole('button', { name: 'Later change' }).click()
  await page.getByText('There was no such znode at that moment').waitFor()
  check('steps go from change to change', true)
  await page.getByRole('button', { name: 'Earlier change' }).click()
  await page.getByText('10.0.0.2:80').waitFor()
  const slider = page.getByRole('slider', { name: 'Moment' })
  await slider.focus()
  await slider.press('Home')
  await page.waitForURL(/at=\d{4}-/)
  await until(async () => (await then.locator('.row', { hasText: 'shop' }).count()) === 0)
  check('the slider goes to the beginning by keyboard', true)
  await slider.press('End')
  await until(() => !page.url().includes('at='))
  await then.getByText('after').waitFor()
  check('and to the last moment', true)
  await page.getByLabel('At', { exact: true }).fill('1999-01-01')
  await page.getByLabel('At', { exact: true }).press('Enter')
  await page.getByText('Nothing is kept from that time').waitFor()
  check('a moment before all history is refused', true)
  await page.getByLabel('At', { exact: true }).fill('0x100000000')
  await page.getByLabel('At', { exact: true }).press('Enter')
  await page.getByText('The past').first().waitFor()
  await until(async () => (await slider.inputValue()) === (await slider.getAttribute('min')))
  check('the slider of the first moment is at the beginning', true)
  check(
    'all transactions are counted above the slider',
    /[34]\d\d transactions/.test(await page.locator('.time-slider').innerText()),
    await page.locator('.time-slider').innerText(),
  )

  await stage.goTo(page, `#/history?${query({ show: 'moment', at: whole, path: '/shop/large' })}`)
  await page.getByText('These are the first 64 KiB of 293 KiB').waitFor()
  await page.getByRole('button', { name: 'Load all' }).click()
  await page.getByRole('button', { name: 'Save as file' }).waitFor()
  check(
    'a large value of the past comes in slices, and whole when asked for',
    (await page.getByLabel('Data', { exact: true }).innerText()).length === 300_000,
  )

  await stage.goTo(page, `#/history?${query({ show: 'moment', at: whole, path: '/shop/workers' })}`)
  await page.getByRole('button', { name: 'Undelete' }).click()
  const dialog = page.locator('dialog')
  await dialog.getByText('3 znodes').waitFor()
  await stage.axe(page, 'an undelete')
  await stage.picture(page, 'history-undelete-light')
  await dialog.getByRole('button', { name: 'Undelete' }).click()
  await page.getByRole('region', { name: 'Znode /shop/workers', exact: true }).waitFor()
  check(
    'a deleted subtree is back',
    (await stage.read('/shop/workers/a')) === '10.0.0.1:80' &&
      (await stage.exists('/shop/workers/b')),
  )
}

async function difference(stage: Stage, page: Page, { whole, last }: Written): Promise<void> {
  await stage.goTo(
    page,
    `#/history?${query({ show: 'difference', from: whole, to: last, path: '/shop' })}`,
  )
  const lines = page.locator('.differences > li')
  await page
    .getByText('4 znodes are different')
    .or(page.getByText('5 znodes are different'))
    .waitFor()
  const texts = (await lines.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))
  check(
    'two points are compared',
    texts.some((text) => text.includes('came /shop/after')) &&
      texts.filter((text) => text.includes('went /shop/workers')).length === 3,
    texts,
  )
  await lines.filter({ hasText: '/shop/workers/a' }).getByRole('button').first().click()
  await lines.getByText('10.0.0.1:80').waitFor()
  await stage.axe(page, 'a difference of the tree')
}

/** The history goes on at another member when its server is lost, and at its own again. */
async function otherServer(stage: Stage): Promise<void> {
  const { ensemble, withConsole } = stage
  const page = await stage.open('light')
  await stage.goTo(page, `#/history?${query({ path: '/shop/lost', kinds: 'create,set' })}`)
  await page.locator('.live-mark.on').waitFor()
  await stage.client.create('/shop/lost', 'before')
  await changeLines(page).first().waitFor()
  await ensemble.stop(withConsole)
  await page.getByText('This page continues with server').waitFor()
  await page.locator('.live-mark.on').waitFor()
  await stage.set('/shop/lost', 'after')
  await until(async () => (await changeLines(page).count()) === 2)
  const lines = await textsOf(page)
  check(
    'the history goes on at another member, without a gap',
    lines[0]?.includes('set /shop/lost') === true && lines[1]?.includes('created') === true,
    lines,
  )
  await page.context().close()
  await ensemble.start(withConsole)
  await until(() => ensemble.server(withConsole).peer.isServing)
}

/** A caller sees of the past what it may see now, and might then. */
async function rights(stage: Stage, { whole }: Written): Promise<void> {
  const page = await stage.open('light')
  await stage.goTo(page, `#/history?${query({ show: 'moment', at: whole, path: '/shop/secret' })}`)
  await page.getByText('The ACL does not allow this, or did not then').waitFor()
  check(
    'the value of a hidden znode is not shown',
    !(await page.content()).includes('hidden value'),
  )
  await stage.goTo(page, `#/history?${query({ show: 'versions', path: '/shop/secret' })}`)
  await page.getByText('has no change of /shop/secret that you may see').waitFor()
  await stage.signIn(page)
  await page.getByRole('region', { name: 'Comparison' }).waitFor()
  check('the administrator sees versions that he may read', true)
  await stage.goTo(page, `#/history?${query({ show: 'versions', path: '/shop/prices' })}`)
  await page.getByText('everybody may do everything').waitFor()
  check(
    'a change of the ACL is shown in words',
    await page.getByText('user boss may do everything').isVisible(),
  )
  await page.context().close()

  const reader = await stage.open('light')
  await stage.set('/shop/prices', 'three').catch(() => {})
  await stage.goTo(reader, `#/history?${query({ show: 'versions', path: '/shop/prices' })}`)
  await reader.getByRole('button', { name: /Restore the older one/ }).click()
  await reader
    .locator('dialog')
    .getByRole('button', { name: /Restore over version/ })
    .click()
  await reader
    .locator('dialog')
    .getByRole('alert')
    .getByText('The ACL does not allow this')
    .waitFor()
  check('who may not write may not restore', (await stage.read('/shop/prices')) === 'one\ntwo\n')
  await reader.context().close()
}

/** History for a role that sees no data, and on a server without history. */
async function roles(stage: Stage): Promise<void> {
  const config = { 'admin.enableServer': 'true', 'admin.serverPort': 0, clientPort: 0 }
  const page = await (await stage.browser.newContext()).newPage()
  const names = await startServer({ config: { ...config, 'api.anonymous': 'metadata' } })
  await page.goto(`http://127.0.0.1:${names.adminPort}/#/history`)
  await changeLines(page).first().waitFor()
  await changeLines(page).first().getByRole('button').first().click()
  await stage.goTo(page, `#/history?${query({ show: 'moment', path: '/zookeeper' })}`)
  await page.getByText('Your role does not show data.').waitFor()
  check(
    'a role that sees names sees the past without data',
    (await page.getByRole('alert').count()) === 0,
  )
  await names.stop()
  const without = await startServer({ config: { ...config, 'history.enabled': 'false' } })
  await page.goto(`http://127.0.0.1:${without.adminPort}/#/history`)
  await page.getByText('history.enabled is false on this server').waitFor()
  check('a server without history says so', true)
  await without.stop()
  await page.context().close()
}

async function looks(stage: Stage, { whole }: Written): Promise<void> {
  for (const config of configs) await stage.set('/shop/config', JSON.stringify(config))
  const visitor = await stage.connect(stage.withConsole)
  await visitor.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from('deploy:x') })
  await visitor.must('setData', {
    path: '/shop/notes',
    data: Buffer.from('all new\n'),
    version: -1,
  })
  await visitor.create('/shop/session', 'of a visitor', createFlags.ephemeral)
  const views = {
    history: { path: '/shop' },
    versions: { show: 'versions', path: '/shop/config' },
    moment: { show: 'moment', at: whole, path: '/shop/config' },
    difference: { show: 'difference', from: whole, path: '/shop' },
  }
  const ready = {
    history: '.changes .change',
    versions: '.comparison .diff',
    moment: '.past .data pre',
    difference: '.differences li',
  }
  for (const theme of ['light', 'dark'] as const) {
    const page = await stage.open(theme)
    for (const view of ['history', 'versions', 'moment', 'difference'] as const) {
      await stage.goTo(page, `#/history?${query(views[view])}`)
      await page.locator(ready[view]).first().waitFor()
      await page.waitForTimeout(300)
      await stage.axe(page, `${view}, ${theme}`)
      await stage.picture(
        page,
        view === 'history' ? `history-${theme}` : `history-${view}-${theme}`,
      )
    }
    await page.context().close()
    const phone = await stage.open(theme, 390, 800)
    for (const view of ['history', 'versions', 'moment', 'difference'] as const) {
      await stage.goTo(phone, `#/history?${query(views[view])}`)
      await phone.locator(ready[view]).first().waitFor()
      await stage.fits(phone, `${view} on a phone`)
      if (theme === 'dark') await stage.axe(phone, `${view} on a phone`)
      if (theme === 'light') await stage.picture(phone, `history-phone-${view}`)
    }
    await phone.context().close()
  }
}
