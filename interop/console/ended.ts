/** Sessions that ended, and why, as all servers saw it. */
import { createFlags } from '@zabra/protocol'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { check, type Stage } from './stage.ts'

export async function ended(stage: Stage): Promise<void> {
  const { ensemble, withConsole } = stage
  const another = ensemble.followers.find((id) => id !== withConsole)!
  const connect = (id: number): Promise<RawClient> =>
    RawClient.connect(ensemble.server(id).clientPort, { timeoutMs: 2000 })
  const idOf = ({ sessionId }: RawClient): string =>
    `0x${BigInt.asUintN(64, sessionId).toString(16)}`
  const silent = await connect(withConsole)
  const broken = await connect(another)
  const closed = await connect(withConsole)
  await silent.create('/ended', '')
  await broken.create('/ended/of-it', '', createFlags.ephemeral)
  broken.socket.resetAndDestroy()
  await closed.close()

  const page = await stage.open('light')
  await stage.goTo(page, '#/sessions?show=ended')
  const cardOf = (client: RawClient) =>
    page.getByRole('article', { name: `Session ${idOf(client)}`, exact: true })
  await cardOf(silent).waitFor()
  await cardOf(broken).waitFor()
  check(
    'a client that was silent is told from one whose connection broke',
    (await cardOf(silent).innerText()).includes('Client silent') &&
      (await cardOf(broken).innerText()).includes('Client gone'),
    [await cardOf(silent).innerText(), await cardOf(broken).innerText()],
  )
  const text = (await cardOf(broken).innerText()).replace(/\s+/g, ' ')
  check(
    'the server of the client says what it saw, also when the page is of another',
    text.includes(`server ${another}`) && text.includes('broke') && /Resets 1/.test(text),
    text,
  )
  check('and the leader says that it decided', text.includes('which decided'), text)
  await stage.axe(page, 'sessions that ended')
  await page.getByRole('button', { name: 'Client silent: 1' }).click()
  await page.waitForURL(/verdict=silent/)
  await cardOf(broken).waitFor({ state: 'detached' })
  check('verdicts filter, and are in the address', await cardOf(silent).isVisible())
  await stage.goTo(page, '#/sessions?show=ended')
  await page.getByLabel('with sessions that their clients closed').check()
  await cardOf(closed).waitFor()
  check('sessions that were closed are shown when asked for', true)

  // --- from the history to the reason, and back --------------------------------------------------
  await stage.goTo(page, `#/history?session=${idOf(broken)}`)
  await page.getByText('expired', { exact: true }).click()
  await page.getByRole('link', { name: 'Why it expired' }).click()
  await page.getByRole('heading', { name: `Session ${idOf(broken)}` }).waitFor()
  check('a history leads to the reason', (await page.getByRole('article').count()) === 1)
  await page.getByRole('link', { name: 'Its changes' }).click()
  await page.getByText('/ended/of-it').first().waitFor()
  check('and the reason to the history', true)

  for (const theme of ['light', 'dark'] as const) {
    const themed = await stage.open(theme)
    await stage.goTo(themed, '#/sessions?show=ended')
    await themed.getByRole('article').nth(1).waitFor()
    await stage.axe(themed, `sessions that ended, ${theme}`)
    await stage.picture(themed, `ended-${theme}`)
    await themed.context().close()
  }
  const phone = await stage.open('light', 390, 800)
  await stage.goTo(phone, '#/sessions?show=ended')
  await phone.getByRole('article').nth(1).waitFor()
  await stage.fits(phone, 'sessions that ended on a phone')
  await phone.context().close()
  await silent.close()
}
