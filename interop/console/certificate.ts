/** A browser with a client certificate signs in without a password, over HTTPS. */
import type { Page } from 'playwright-core'
import { startServer } from '../../packages/server/src/embedded.ts'
import type { RunningServer } from '../../packages/server/src/running/running-server.ts'
import { Authority, keyPem } from '../../packages/server/test/support/certificates.ts'
import { EmbeddedEnsemble } from '../../packages/server/test/support/embedded-ensemble.ts'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { check, until, untilAllLoaded, type Stage } from './stage.ts'

const https = (authority: Authority): Record<string, string> => ({
  'admin.enableServer': 'true',
  'admin.forceHttps': 'true',
  ...authority.settings('ssl.admin.'),
  'admin.identities': 'x509:CN=ops,O=zabra',
})

export async function certificate(stage: Stage): Promise<void> {
  const authority = new Authority()
  authority.issueFile('server')
  try {
    await wanted(stage, authority)
    await needed(stage, authority)
    await notAsked(stage, authority)
    await lost(stage, authority)
  } finally {
    authority.dispose()
  }
}

/** The server asks for a certificate: who has one may use it, and nobody must. */
async function wanted(stage: Stage, authority: Authority): Promise<void> {
  await using server = await serve({
    ...https(authority),
    'admin.wantClientAuth': 'true',
    // Without a port where clients prove such identities, ACLs do not take them.
    secureClientPort: 0,
    ...authority.settings('ssl.'),
  })
  const { origin } = server
  const client = await RawClient.connect(server.running.clientPort)
  await client.create('/vault', 'gold')
  await client.must('setACL', {
    path: '/vault',
    acl: [{ perms: 31, id: { scheme: 'x509', id: 'CN=ann,O=zabra' } }],
    version: -1,
  })
  await client.close()

  const ann = await openWith(stage, authority, [origin], 'ann')
  await ann.goto(`${origin}/#/tree?path=/vault`)
  await ann.locator('.status.live').waitFor()
  await ann.getByText('The ACL does not allow this').first().waitFor()
  const gold = ann.getByText('gold', { exact: true })
  check('a certificate alone opens nothing', (await gold.count()) === 0)
  await signIn(ann)
  await gold.waitFor()
  check('who signs in with a certificate reads what its identity may read', true)
  check(
    'and is no administrator',
    (await ann.locator('.status').innerText()).includes('your role: read and write'),
    await ann.locator('.status').innerText(),
  )
  await ann.getByRole('button', { name: 'Sign out certificate' }).click()
  await gold.waitFor({ state: 'detached' })
  check('nothing of it is left after the sign-out', true)

  const ops = await openWith(stage, authority, [origin], 'ops')
  await ops.goto(origin)
  await ops.locator('.status.live').waitFor()
  await signIn(ops)
  await ops.getByText('your role: administrator').waitFor()
  check('the certificate of an administrator makes an administrator', true)
  await stage.axe(ops, 'a page with a certificate')

  const stranger = await openWith(stage, authority, [origin])
  await stranger.goto(origin)
  await stranger.locator('.status.live').waitFor()
  await signIn(stranger)
  const reason = stranger.getByRole('alert')
  await reason.getByText('did not present a client certificate').waitFor()
  check('without a certificate the page says what is missing', true)
  check(
    'and does not look like one where somebody is signed in',
    (await stranger.getByRole('button', { name: /Sign out/ }).count()) === 0 &&
      !(await stranger.locator('.status').innerText()).includes('role'),
    await stranger.locator('header').innerText(),
  )
  check(
    'the same way is offered again',
    await stranger.getByRole('button', { name: 'Certificate', pressed: true }).isVisible(),
  )
  await stage.axe(stranger, 'a certificate that is missing')
  await stranger.getByRole('button', { name: 'Continue without signing in' }).click()
  await stranger.getByRole('tree').getByText('vault').waitFor()
  check('the page can be used without signing in', true)
  for (const page of [ann, ops, stranger]) await page.context().close()
}

/** Nobody comes in without a certificate; with one, everything works. */
async function needed(stage: Stage, authority: Authority): Promise<void> {
  await using server = await serve({ ...https(authority), 'admin.needClientAuth': 'true' })
  const { origin } = server
  const stranger = await openWith(stage, authority, [origin])
  const answer = await stranger.goto(origin).catch(() => undefined)
  check('who needs a certificate and has none gets no page', answer === null || !answer?.ok())
  const ops = await openWith(stage, authority, [origin], 'ops')
  await ops.goto(origin)
  await ops.locator('.status.live').waitFor()
  await signIn(ops)
  await ops.getByText('your role: administrator').waitFor()
  check('who needs a certificate signs in with it', true)
  for (const page of [stranger, ops]) await page.context().close()
}

/** The page says why a certificate is of no use. */
async function notAsked(stage: Stage, authority: Authority): Promise<void> {
  await using server = await serve(https(authority))
  const ops = await openWith(stage, authority, [server.origin], 'ops')
  await ops.goto(server.origin)
  await ops.locator('.status.live').waitFor()
  await signIn(ops)
  await ops.getByRole('alert').getByText('admin.wantClientAuth').waitFor()
  check('where the server asks for no certificate, the page says what to set', true)
  await ops.context().close()
  const plain = await stage.open('light')
  await signIn(plain)
  await plain.getByRole('alert').getByText('does not use HTTPS').waitFor()
  check('without HTTPS, the page says so', true)
  await plain.context().close()
}

/** Another member gets the certificate, too. */
async function lost(stage: Stage, authority: Authority): Promise<void> {
  const ports = await freePorts(3)
  const origins = ports.map((port) => `https://127.0.0.1:${port}`)
  await using ensemble = await EmbeddedEnsemble.start(
    { ...https(authority), 'admin.wantClientAuth': 'true' },
    {
      hasClientPorts: true,
      settingsOf: (id) => ({ 'admin.serverPort': String(ports[id - 1]) }),
    },
  )
  const own = ensemble.followers[0]!
  const page = await openWith(stage, authority, origins, 'ops')
  /** Members that know where the page comes from. */
  const greeted = new Set<string>()
  page.on('response', (response) => {
    const { origin, pathname } = new URL(response.url())
    if (pathname === '/api/openapi.json' && response.ok()) greeted.add(origin)
  })
  await page.goto(origins[own - 1]!)
  await page.locator('.status.live').waitFor()
  await signIn(page)
  await page.getByText('your role: administrator').waitFor()
  await stage.goTo(page, '#/ensemble?show=log')
  await page.getByRole('button', { name: `Server ${ensemble.leader}`, exact: true }).click()
  await page.getByRole('log').getByText('zab: leading').first().waitFor()
  check('a certificate opens the log of another member', true)
  await untilAllLoaded(page)
  await until(() => greeted.size === ensemble.ids.length - 1)
  await ensemble.stop(own)
  await page.getByText('This page continues with server').waitFor()
  await page.getByText('your role: administrator').waitFor()
  check('the page continues with another member and the same certificate', true)
  await page.context().close()
}

interface Served extends AsyncDisposable {
  readonly running: RunningServer
  readonly origin: string
}

async function serve(config: Record<string, string | number>): Promise<Served> {
  const running = await startServer({ config: { 'admin.serverPort': 0, ...config } })
  return {
    running,
    origin: new URL(running.adminAddress!).origin,
    [Symbol.asyncDispose]: () => running.stop(),
  }
}

/** A page that presents the certificate of this name to these servers, or none. */
async function openWith(
  { browser }: Stage,
  authority: Authority,
  origins: readonly string[],
  name?: string,
): Promise<Page> {
  const identity = name === undefined ? undefined : authority.issue(name)
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    ...(identity !== undefined && {
      clientCertificates: origins.map((origin) => ({
        origin,
        cert: Buffer.from(identity.certificate.toString()),
        key: Buffer.from(keyPem(identity.key)),
      })),
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
