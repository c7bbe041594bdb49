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
  await page.getByText('It goes on at server').waitFor()
  check('the page says where it goes on when its server is gone', true)
  await stage.axe(page, 'a page that goes on at another server')
  await stage.picture(page, 'away-light')
  await stage.set('/loss', 'meanwhile')
  await page.getByText('meanwhile', { exact: true }).waitFor()
  check('changes are shown by the other server', true)
  await page.getByText('you may administer').waitFor()
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

  await stage.goTo(page, '#/locks')
  await page.getByRole('heading', { level: 2 }).first().waitFor()
  check('a view that was not open before needs nothing of the lost server', true)
  await stage.show(page, '/loss')

  await ensemble.start(withConsole)
  await until(() => ensemble.server(withConsole).peer.isServing)
  await page.getByRole('button', { name: `Back to server ${withConsole}` }).click()
  await page.getByText('It goes on at').waitFor({ state: 'detached' })
  await page.locator('.status.live').waitFor()
  check('the page goes back when asked', true)

  // Without a quorum no server serves: the page keeps its content and says that it is not live.
  const others = ensemble.ids.filter((id) => id !== withConsole)
  for (const id of others) await ensemble.stop(id)
  await page.getByText('What you see may be out of date').waitFor()
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
}
