/** The ensemble: roles, elections on a time line, charts, hand-over, a rolling restart. */
import type { Page } from 'playwright-core'
import { check, type Stage } from './stage.ts'

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
  await page.getByRole('button', { name: 'Server 1', exact: true }).click()
  await page.getByText('The same as a table').click()
  await page.getByRole('region', { name: 'Metrics', exact: true }).waitFor()
  await stage.axe(page, 'metrics as a table')
  await page.getByText('The same as a table').click()

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
