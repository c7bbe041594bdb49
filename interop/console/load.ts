/** The load view: what is busy, slow and large, as other clients make it. */
import { check, sessionText, type Stage } from './stage.ts'

export async function load(stage: Stage): Promise<void> {
  const client = await stage.connect(stage.withConsole)
  await client.create('/load')
  await client.create('/load/hot', 'x'.repeat(3000))
  await client.create('/load/warm')
  const many = (count: number, make: () => Promise<unknown>): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, make))
  await many(4000, () => client.must('getData', { path: '/load/hot', watch: false }))
  await many(1000, () => client.must('setData', { path: '/load/warm', data: null, version: -1 }))
  const page = await stage.open('light')
  await stage.goTo(page, '#/load')
  const paths = page.getByRole('region', { name: 'Busiest paths' })
  const hot = paths.getByRole('row', { name: '/load/hot' })
  await hot.waitFor()
  const rates = (await hot.getByRole('cell').allInnerTexts()).map(Number.parseFloat)
  check('the busiest path is read, not written', rates[0]! > 0 && rates[1] === 0, rates)
  const warm = await paths
    .getByRole('row', { name: '/load/warm' })
    .getByRole('cell')
    .allInnerTexts()
  check('a path that is written says so', Number.parseFloat(warm[1]!) > 0, warm)
  await page.getByRole('button', { name: 'Busiest clients' }).click()
  const row = page.getByRole('row', { name: sessionText(client) })
  await row.waitFor()
  check('the busiest client is known by its session', (await row.count()) === 1)
  await page.getByRole('button', { name: 'Slowest requests' }).click()
  await page.getByText('Requests that took 20 ms or longer').waitFor()
  await page.getByRole('button', { name: 'Large znodes' }).click()
  await page.getByRole('region', { name: 'Most data' }).waitFor()
  await page.context().close()
}
