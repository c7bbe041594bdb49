/** The ensemble: roles, elections on a time line, charts, hand-over, a rolling restart. */
import type { Page } from 'playwright-core'
import { check, until, type Stage } from './stage.ts'

export async function ensemble(stage: Stage): Promise<void> {
  const { ensemble: servers } = stage
  const page = await stage.open('light', 1200, 1500)
  await stage.signIn(page)
  await stage.goTo(page, '#/ensemble')
  const card = (id: number) => page.locator('article', { hasText: `Server ${id}` })
  const first = servers.leader
  await card(first).getByText('leader', { exact: true }).waitFor()
  check('each server has a card', (await page.locator('article.server').count()) === 3)
  const facts = await card(stage.withConsole).locator('dd').allInnerTexts()
  check('a card has all its numbers', !facts.includes('–'), facts)
  await page.getByText('If one of them fails, the others continue.').waitFor()
  check('a healthy ensemble says what it can lose', true)

  // --- hand-over, from the console of a server that does not lead ---------------------------
  await page.getByRole('button', { name: 'Hand leadership over' }).click()
  await stage.axe(page, 'a hand-over')
  await page.getByRole('button', { name: 'Hand over', exact: true }).click()
  await page.locator('dialog').waitFor({ state: 'detached' })
  const second = servers.leader
  check('another server leads after a hand-over', second !== first && second !== undefined)
  const leaders = page.getByRole('region', { name: 'Leaders' }).getByRole('row')
  await leaders.nth(1).getByText(`Server ${second}`).waitFor()
  const reign = await leaders.nth(1).getByRole('cell').allInnerTexts()
  check('the time line knows who leads, and that it came by a hand-over', isHandOver(reign), reign)
  await page.getByText(/events, as the servers saw them/).click()
  await page
    .getByRole('region', { name: 'Events' })
    .getByText(/handing over/)
    .first()
    .waitFor()
  check('the events name the hand-over', true)

  // --- charts ---------------------------------------------------------------------------------
  await page.getByRole('button', { name: 'Compare' }).click()
  const chart = page.getByRole('slider', { name: 'Znodes over time', exact: true })
  await chart.focus()
  await page
    .locator('[aria-label="Znodes over time"][aria-valuetext*="server 3 "]')
    .and(page.locator('[aria-valuetext*="server 1 "]'))
    .waitFor()
  const lines = page.locator('figure.chart', { has: chart }).locator('path.line[d*="L"]')
  await lines.first().waitFor({ state: 'attached' })
  const before = await chart.getAttribute('aria-valuetext')
  await page.keyboard.press('Home')
  const moved = await chart.getAttribute('aria-valuetext')
  check('keys read the charts', moved !== before && /UTC: server 1/.test(moved ?? ''), moved)
  await stage.axe(page, 'compared metrics')

  await page.keyboard.press('End')
  await page.keyboard.press('+')
  await page.waitForURL(/from=.*to=/)
  const spanMs = async (): Promise<number> => {
    const [from, to] = await Promise.all(
      ['aria-valuemin', 'aria-valuemax'].map((name) => chart.getAttribute(name)),
    )
    return Number(to) - Number(from)
  }
  const zoomedMs = await spanMs()
  await page.keyboard.press('-')
  await until(() => !page.url().includes('from='))
  check('keys zoom into the charts, and out', zoomedMs < (await spanMs()), zoomedMs)
  await chart.scrollIntoViewIfNeeded()
  const box = (await chart.boundingBox())!
  const middle = box.y + box.height / 2
  await page.mouse.move(box.x + box.width / 2, middle)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.95, middle, { steps: 4 })
  await page.mouse.up()
  await page.waitForURL(/from=.*to=/)
  await page.getByRole('button', { name: 'Zoom out' }).click()
  await until(() => !page.url().includes('from='))
  check('so does dragging over one', true)
  await page.getByRole('button', { name: 'Server 1', exact: true }).click()
  await page.getByText('The same as a table').click()
  await page.getByRole('region', { name: 'Metrics', exact: true }).waitFor()
  await stage.axe(page, 'metrics as a table')
  await page.getByText('The same as a table').click()

  // --- the log ---------------------------------------------------------------------------------
  await page.getByRole('link', { name: 'Log', exact: true }).click()
  const logged = page.getByRole('log')
  await logged.getByText('zab: following').or(logged.getByText('zab: leading')).first().waitFor()
  await page.getByRole('button', { name: 'Server 2', exact: true }).click()
  await page.getByRole('heading', { name: 'Log of server 2' }).waitFor()
  await page.getByText('lines appear as they are written').waitFor()
  await page.getByLabel('Lines that contain').fill('elected leader')
  await page.waitForURL(/text=elected/)
  await logged.getByText('election: looking for a leader').waitFor({ state: 'detached' })
  check('lines are found by their text, and the filter is in the address', true)
  await page.getByLabel('Lines that contain').fill('')
  await fetch(`${stage.baseOf(2)}api/v1/node`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ path: '/logged' }),
  })
  await logged.getByText('target=/logged').waitFor()
  check('a line appears as it is written, and says who made a change', true)
  await stage.axe(page, 'the log')
  await page.getByRole('button', { name: 'Errors', exact: true }).click()
  await page.getByText('Nothing was logged at this level.').waitFor()
  await page.getByRole('link', { name: 'Servers', exact: true }).click()

  // --- a rolling restart -----------------------------------------------------------------------
  await page.getByRole('button', { name: 'Rolling restart' }).click()
  const restarted: number[] = []
  for (let turn = 0; turn < 3; turn++) {
    if (turn === 2) {
      await page.getByText('leads: hand leadership over.').waitFor()
      check('the leader is not restarted while it leads', true)
      await page.locator('.steps').getByRole('button', { name: 'Hand leadership over' }).click()
      await page.getByRole('button', { name: 'Hand over', exact: true }).click()
      await page.locator('dialog').waitFor({ state: 'detached' })
    }
    await page.getByText(/Server \d may be restarted now/).waitFor()
    const id = await nextOf(page)
    if (turn === 0) {
      await stage.axe(page, 'a rolling restart')
      await stage.picture(page, 'restart-light')
    }
    check(
      `server ${id} is next, and does not lead`,
      id !== servers.leader && !restarted.includes(id),
    )
    restarted.push(id)
    await servers.stop(id)
    await page.getByText('Wait: no server may be restarted now.').waitFor()
    check('while it is away, no other may be restarted', true)
    await servers.start(id)
  }
  await page.getByText('Every server is restarted.').waitFor()
  check('the restart ends when every server is back', restarted.length === 3)
  await page.context().close()

  if (stage.takesPictures) await bustle(stage)
  for (const theme of ['light', 'dark'] as const) {
    const themed = await stage.open(theme, 1200, 1640)
    await stage.goTo(themed, '#/ensemble?metrics=1&range=5%20min')
    await themed.getByRole('slider').first().waitFor()
    await stage.axe(themed, `the ensemble with charts, ${theme}`)
    await stage.picture(themed, `ensemble-${theme}`)
    await stage.goTo(themed, '#/ensemble?show=log')
    await themed.locator('.log-line').first().waitFor()
    await themed.setViewportSize({ width: 1200, height: 760 })
    await stage.axe(themed, `the log, ${theme}`)
    await stage.picture(themed, `log-${theme}`)
    await themed.context().close()
  }
  const phone = await stage.open('dark', 390, 800)
  await stage.goTo(phone, '#/ensemble')
  await phone.getByRole('slider').first().waitFor()
  await stage.axe(phone, 'the ensemble on a phone')
  await stage.fits(phone, 'the ensemble on a phone')
  await stage.picture(phone, 'phone-ensemble-dark')
  await phone.context().close()
}

/** Some work for the charts, more and less of it. */
async function bustle(stage: Stage): Promise<void> {
  const client = await stage.connect(1)
  await client.create('/bustle', 'x'.repeat(500))
  const untilMs = Date.now() + 90_000
  for (let turn = 0; Date.now() < untilMs; turn++) {
    const reads = Math.round(60 + 50 * Math.sin(turn / 40) + 20 * Math.sin(turn / 7))
    await Promise.all([
      ...Array.from({ length: reads }, () =>
        client.call('getData', { path: '/bustle', watch: false }),
      ),
      ...Array.from({ length: Math.round(reads / 5) }, (_, at) =>
        at % 4 === 0
          ? client.create(`/bustle/n${turn}-${at}`, 'y'.repeat(200))
          : client.call('setData', { path: '/bustle', data: null, version: -1 }),
      ),
    ])
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const isHandOver = (cells: readonly string[]): boolean => cells.includes('hand-over')

async function nextOf(page: Page): Promise<number> {
  const text = await page.getByText(/Server \d may be restarted now/).innerText()
  return Number(/Server (\d) may/.exec(text)?.[1])
}
