/** A server that goes away while its page is open. */
import { until } from '../../packages/server/test/support/until.ts'
import { check, untilAllLoaded, type Stage } from './stage.ts'

export async function loss(stage: Stage): Promise<void> {
  const { client, ensemble, withConsole } = stage
  await client.create('/loss', 'before')
  const page = await stage.open('light')
  await stage.signIn(page)
  await stage.show(page, '/loss')
  await page.getByText('before', { exact: true }).waitFor()
  const credentials: (string | undefined)[] = []
  page.on('request', (request) => {
    const url = request.url()
    if (url.includes('/api/v1/') && !url.startsWith(stage.base)) {
      credentials.push(request.headers()['authorization'])
    }
  })
  await untilAllLoaded(page)

  await ensemble.stop(withConsole)
  await page.getByText('This page continues with server').waitFor()
  check('the page says where it goes on when its server is gone', true)
  await stage.axe(page, 'a page that goes on at another server')
  await stage.picture(page, 'away-light')
  await stage.set('/loss', 'meanwhile')
  await page.getByText('meanwhile', { exact: true }).waitFor()
  check('changes are shown by the other server', true)
  await page.getByText('your role: administrator').waitFor()
  check(
    'the other server gets the credentials',
    credentials.length > 0 && credentials.every((each) => each?.startsWith('Basic ') === true),
    credentials,
  )
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Data of /loss').fill('over there')
  await page.getByRole('button', { name: 'Save over version 1' }).click()
  await page.getByText('over there', { exact: true }).waitFor()
  check('a change is made at the other server', (await stage.read('/loss')) === 'over there')

  await page.getByRole('link', { name: 'Ensemble 1 server does not serve' }).click()
  await page.getByText(`Server ${withConsole} does not answer.`).waitFor()
  await page.getByText('If another voter fails, nobody can write.').waitFor()
  check('every view counts the servers that are down, and the ensemble says what that means', true)
  await stage.axe(page, 'an ensemble without one of its servers')
  await stage.goTo(page, '#/locks')
  await page.getByRole('heading', { level: 2 }).first().waitFor()
  check('a view that was not open before needs nothing of the lost server', true)
  await stage.show(page, '/loss')

  await ensemble.start(withConsole)
  await until(() => ensemble.server(withConsole).peer.isServing)
  await page.getByRole('button', { name: `Back to server ${withConsole}` }).click()
  await page.getByText('This page continues with').waitFor({ state: 'detached' })
  await page.locator('.status.live').waitFor()
  check('the page goes back when asked', true)

  // Without a quorum no server serves: the page keeps its content and says that it is not live.
  const others = ensemble.ids.filter((id) => id !== withConsole)
  for (const id of others) await ensemble.stop(id)
  await page.getByText('What you see may be out of date').waitFor()
  check(
    'the title says that the page is not connected',
    (await page.title()).startsWith('(not connected)'),
  )
  check(
    'without a quorum what was seen stays',
    (await page.getByLabel('Data', { exact: true }).innerText()) === 'over there',
  )
  await stage.axe(page, 'a lost connection')
  await stage.picture(page, 'lost-light')
  await stage.goTo(page, '#/tree?path=%2Floss')
  for (const id of others) await ensemble.start(id)
  await page.locator('.status.live').waitFor()
  await page.getByText('What you see may be out of date').waitFor({ state: 'detached' })
  check('with a quorum it is live again', true)
  await page.context().close()
  await loadedEarly(stage)
}

/** A page that was loaded before its server could know where the consoles of the others are. */
async function loadedEarly(stage: Stage): Promise<void> {
  const { browser, base, ensemble, withConsole } = stage
  for (const id of ensemble.ids) await ensemble.stop(id)
  await ensemble.start(withConsole)
  const context = await browser.newContext()
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  /** Members that know where the page comes from. */
  const greeted = new Set<string>()
  page.on('response', (response) => {
    const { origin, pathname } = new URL(response.url())
    if (pathname === '/api/openapi.json' && response.ok()) greeted.add(origin)
  })
  await page.goto(base)
  await page.getByText('Not connected').waitFor()
  await page.getByText('is looking for a leader').waitFor()
  await page.getByRole('link', { name: 'The ensemble' }).click()
  await page.getByText('3 servers, no leader').waitFor()
  await page.getByText('Nobody can write: there is no quorum with a leader.').waitFor()
  check(
    'without a quorum the page shows which servers answer',
    (await page.locator('.server').filter({ hasText: 'does not answer' }).count()) === 2,
  )
  await stage.axe(page, 'an ensemble without a leader')
  await stage.picture(page, 'no-quorum-light')
  await page.getByRole('link', { name: 'Its log' }).click()
  await page.getByRole('log').getByText('election: looking for a leader').waitFor()
  check('and the log of one that does', true)
  for (const id of ensemble.ids) if (id !== withConsole) await ensemble.start(id)
  await page.locator('.status.live').waitFor()
  await untilAllLoaded(page)
  await until(() => greeted.size === ensemble.ids.length - 1)
  await ensemble.stop(withConsole)
  await page.getByText('This page continues with server').waitFor()
  check('a page goes on elsewhere that was loaded before the others were known', true)
  await context.close()
}
