/** A browser with a client certificate signs in without a password, over HTTPS. */
import type { Page } from 'playwright-core'
import { startServer } from '../../packages/server/src/embedded.ts'
import { Authority, keyPem } from '../../packages/server/test/support/certificates.ts'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { check, type Stage } from './stage.ts'

export async function certificate(stage: Stage): Promise<void> {
  const authority = new Authority()
  authority.issueFile('server')
  const server = await startServer({
    config: {
      'admin.enableServer': 'true',
      'admin.serverPort': 0,
      'admin.forceHttps': 'true',
      ...authority.settings('ssl.admin.'),
      'admin.identities': 'x509:CN=ops,O=zabra',
    },
  })
  try {
    const origin = new URL(server.adminAddress!).origin
    const client = await RawClient.connect(Number(server.connectString.split(':')[1]))
    await client.create('/vault', 'gold')
    await client.must('setACL', {
      path: '/vault',
      acl: [{ perms: 31, id: { scheme: 'x509', id: 'CN=ann,O=zabra' } }],
      version: -1,
    })
    await client.close()

    const ann = await openWith(stage, authority, origin, 'ann')
    await ann.goto(`${origin}/#/tree?path=/vault`)
    await ann.locator('.status.live').waitFor()
    await ann.getByText('may not read').first().waitFor()
    check('without a sign-in the certificate alone opens nothing', true)
    await signIn(ann)
    await ann.getByText('gold', { exact: true }).waitFor()
    check('who signs in with a certificate reads what its identity may read', true)
    check(
      'and is no administrator',
      (await ann.getByText('you may administer').count()) === 0,
      await ann.locator('.status').innerText(),
    )
    await ann.getByRole('button', { name: 'Sign out certificate' }).click()
    await ann.getByText('gold', { exact: true }).waitFor({ state: 'detached' })
    check('nothing of it is left after the sign-out', true)

    const ops = await openWith(stage, authority, origin, 'ops')
    await ops.goto(origin)
    await ops.locator('.status.live').waitFor()
    await signIn(ops)
    await ops.getByText('you may administer').waitFor()
    check('the certificate of an administrator makes an administrator', true)
    await stage.axe(ops, 'a page with a certificate')

    const stranger = await openWith(stage, authority, origin, undefined)
    await stranger.goto(origin)
    await stranger.locator('.status.live').waitFor()
    await signIn(stranger)
    await stranger.getByText('certificate').first().waitFor()
    check('without a certificate the page says what is missing', true)
    for (const page of [ann, ops, stranger]) await page.context().close()
  } finally {
    await server.stop()
    authority.dispose()
  }
}

async function openWith(
  { browser }: Stage,
  authority: Authority,
  origin: string,
  name: string | undefined,
): Promise<Page> {
  const identity = name === undefined ? undefined : authority.issue(name)
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    ...(identity !== undefined && {
      clientCertificates: [
        {
          origin,
          cert: Buffer.from(identity.certificate.toString()),
          key: Buffer.from(keyPem(identity.key)),
        },
      ],
    }),
  })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  return page
}

async function signIn(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in', exact: true }).first().click()
  const dialog = page.locator('dialog')
  await dialog.getByRole('button', { name: 'Certificate', exact: true }).click()
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
}
