/** The tree, the ensemble, the sessions and the locks: each view and each change. */
import { createFlags } from '@zabra/protocol'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { boss, check, sessionText, type Stage } from './stage.ts'

const views = ['tree', 'ensemble', 'sessions', 'locks', 'load'] as const

export async function mainViews(stage: Stage): Promise<void> {
  const { client, other, ensemble, withConsole } = stage
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

  const page = await stage.open('light')
  const policy = await page.request.get(stage.base)
  check(
    'nothing but own files may be loaded',
    policy.headers()['content-security-policy']?.includes("default-src 'none'") === true,
  )
  const first = await page.evaluate<number>(`
    performance.getEntriesByType('resource')
      .filter(({ name }) => name.includes('/assets/'))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`)
  check(`the first load is ${first} bytes, at most 60 KiB`, first > 0 && first <= 60 * 1024)

  // --- where one is, and how to get there ------------------------------------------------------
  await stage.show(page, '/app/config')
  const title = await page.title()
  check(
    'the title says what is shown, and where',
    title === `/app/config – zabra at ${new URL(stage.base).host}`,
    title,
  )
  await page.getByRole('heading', { level: 2 }).first().click()
  await page.keyboard.press('/')
  await page.keyboard.type('/app/members/a')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Znode /app/members/a' }).waitFor()
  check('a path that is typed is opened, wherever one was', true)
  await page.getByRole('link', { name: sessionText(client) }).click()
  await page.getByRole('heading', { name: `Session ${sessionText(client)}` }).waitFor()
  check('an ephemeral znode leads to its session', true)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await stage.show(page, '/app/config')
  await page.getByRole('button', { name: 'Copy path' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  check('a path is copied', copied === '/app/config', copied)

  // --- changes -------------------------------------------------------------------------------
  await stage.show(page, '/app')
  await page.getByRole('button', { name: 'New child' }).click()
  await page.getByLabel('Name', { exact: true }).fill('made')
  await page.getByLabel('Data', { exact: true }).last().fill('by hand')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('region', { name: 'Znode /app/made' }).waitFor()
  check('a znode is created', (await stage.read('/app/made')) === 'by hand')

  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Data of /app/made').fill('edited')
  await page.getByRole('button', { name: 'Review changes' }).click()
  await page.getByText('by hand').last().waitFor()
  await stage.axe(page, 'an editor with its changes')
  await page.getByRole('button', { name: 'Save over version 0' }).click()
  await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  check('data is saved', (await stage.read('/app/made')) === 'edited')

  await stage.show(page, '/app/notes')
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Data of /app/notes').fill('one\ntwo\nthree, mine\n')
  await client.must('setData', {
    path: '/app/notes',
    data: Buffer.from('one, theirs\ntwo\nthree\n'),
    version: -1,
  })
  await page.getByRole('button', { name: 'Save over version 0' }).click()
  await page.getByText('Somebody else has changed it').waitFor()
  check('a conflict changes nothing', (await stage.read('/app/notes')).startsWith('one, theirs'))
  await stage.axe(page, 'a conflict')
  await stage.picture(page, 'conflict-light')
  await page.getByRole('button', { name: 'Merge both' }).click()
  await page.getByRole('button', { name: 'Save over version 1' }).click()
  await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  check(
    'both changes are merged',
    (await stage.read('/app/notes')) === 'one, theirs\ntwo\nthree, mine\n',
  )

  await stage.show(page, '/app/made')
  await page.getByRole('button', { name: 'Edit access' }).click()
  await page.getByLabel('delete children', { exact: true }).uncheck()
  await page.getByRole('button', { name: 'Save access' }).click()
  await page.getByRole('button', { name: 'Edit access' }).waitFor()
  await client.must('sync', { path: '/' })
  const { acl } = await client.must('getACL', { path: '/app/made' })
  check('an ACL is saved', acl[0]?.perms === 31 - 8, acl)

  await client.create('/app/made/child')
  await stage.show(page, '/app/made')
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('This deletes 2 znodes').waitFor()
  await stage.axe(page, 'a dialog')
  await stage.picture(page, 'delete-light')
  await page.locator('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page
    .getByText('The ACL does not allow this')
    .or(page.getByText('could not be deleted'))
    .waitFor()
  check('what the ACL forbids is not deleted', await stage.exists('/app/made'))
  await page.keyboard.press('Escape')
  await client.must('setACL', {
    path: '/app/made',
    acl: [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }],
    version: -1,
  })
  await stage.show(page, '/app')
  await stage.show(page, '/app/made')
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('This deletes 2 znodes').waitFor()
  await page.locator('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('region', { name: 'Znode /app', exact: true }).waitFor()
  await client.must('sync', { path: '/' })
  check('a subtree is deleted', !(await stage.exists('/app/made')))

  // --- what is shown -------------------------------------------------------------------------
  await stage.show(page, '/app/config')
  check(
    'large numbers stay as they are',
    (await page.getByLabel('Data', { exact: true }).innerText()).includes(
      '"limit": 9007199254740993,',
    ),
  )
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Data of /app/config').fill('{\n  "a": 1\n  "b": 2\n}')
  await page.getByText('It is not JSON any more, in line 3.').waitFor()
  await page.getByLabel('Data of /app/config').press('Control+Home')
  await page.getByLabel('Data of /app/config').press('ArrowDown')
  await page.getByLabel('Data of /app/config').press('End')
  await page.keyboard.type(',')
  await page.getByText('It is not JSON any more').waitFor({ state: 'detached' })
  await page.keyboard.press('Enter')
  check(
    'a new line is as far in as the one before',
    (await page.getByLabel('Data of /app/config').inputValue()) === '{\n  "a": 1,\n  \n  "b": 2\n}',
    await page.getByLabel('Data of /app/config').inputValue(),
  )
  await stage.axe(page, 'the editor of JSON')
  await stage.picture(page, 'editor-light')
  await page.keyboard.press('Control+s')
  await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  check('Ctrl+S saves', (await stage.read('/app/config')).includes('"a": 1,'))
  await stage.set('/app/config', '{"limit":9007199254740993,"names":["a","b"]}')
  await stage.show(page, '/app/binary')
  await page.getByText('00 01 02 fa fb fc').waitFor()
  check(
    'bytes are not edited as text',
    (await page.getByRole('button', { name: 'Edit', exact: true }).count()) === 0,
  )
  await stage.show(page, '/app/large')
  await page.getByText('These are the first 64 KiB of 195 KiB').waitFor()
  check(
    'a part is not edited as if it were whole',
    (await page.getByRole('button', { name: 'Edit', exact: true }).count()) === 0,
  )
  await page.getByRole('button', { name: 'Load all' }).click()
  await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  await stage.show(page, '/app/live')
  await page.getByText('before').waitFor()
  await client.must('setData', { path: '/app/live', data: Buffer.from('after'), version: -1 })
  await page.getByText('after', { exact: true }).waitFor()
  check('a change by another client is shown', true)
  await stage.show(page, '/secret/inner')
  await page.getByText('The ACL hides the children').waitFor()
  check(
    'a parent that hides its children does not break the tree',
    (await page.getByLabel('Data', { exact: true }).innerText()) === 'seen',
  )

  // --- the tree by keyboard, and a long one ----------------------------------------------------
  await stage.show(page, '/many')
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
  await page.getByRole('searchbox').fill('/locks/rep')
  await page.keyboard.press('Enter')
  await page.locator('.hits').getByRole('link', { name: '/locks/report', exact: true }).waitFor()
  check('a part of a path is found in the whole tree', true)
  await page.locator('.hits').getByRole('button', { name: 'Close' }).click()

  // --- every view, in both themes, and on a phone ----------------------------------------------
  for (const theme of ['light', 'dark'] as const) {
    const themed = await stage.open(theme)
    for (const view of views) {
      await stage.goTo(themed, `#/${view}`)
      if (view === 'tree') await stage.show(themed, '/app/config')
      else await themed.getByRole('heading', { level: 2 }).first().waitFor()
      await themed.waitForTimeout(300)
      await stage.axe(themed, `${view}, ${theme}`)
      // Those of the other views are taken where they have something to show.
      if (view === 'tree' || view === 'sessions') await stage.picture(themed, `${view}-${theme}`)
    }
    await themed.context().close()
  }
  const phone = await stage.open('light', 390, 800)
  await stage.show(phone, '/app/config')
  await stage.axe(phone, 'the tree on a phone')
  check(
    'nothing is wider than a phone',
    await phone.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
  )
  await stage.picture(phone, 'phone-light')
  await phone.setViewportSize({ width: 360, height: 740 })
  const last = await phone.locator('.bar nav a').last().boundingBox()
  check('all views are in sight on a small phone', last!.x + last!.width <= 360, last)
  await phone.context().close()

  // --- locks and sessions --------------------------------------------------------------------
  await stage.goTo(page, '#/locks')
  const card = page.locator('article', { hasText: '/locks/report' })
  await card.waitFor()
  const lines = await card.locator('li').allInnerTexts()
  check(
    'locks show holder and waiter in order',
    /holds\s+worker-1/.test(lines[0] ?? '') && /waits\s+worker-2/.test(lines[1] ?? ''),
    lines,
  )
  await stage.signIn(page, 'boss', 'wrong')
  await page.getByText('gives that user and password no role').waitFor()
  check('a wrong password is noticed', true)
  await stage.axe(page, 'a wrong password')
  await page.getByRole('button', { name: 'Sign out boss' }).click()
  await page.getByText('gives that user and password no role').waitFor({ state: 'detached' })
  const victim = await RawClient.connect(ensemble.server(withConsole).clientPort)
  await victim.create('/app/victim', '', createFlags.ephemeral)
  await stage.signIn(page)
  await page.getByText('your role: administrator').waitFor()
  check(
    'and the right one is not',
    (await page.getByText('gives that user and password no role').count()) === 0,
  )
  await stage.goTo(page, '#/sessions')
  const id = sessionText(victim)
  const rowOf = (session: RawClient) =>
    page.getByRole('row').filter({ hasText: sessionText(session) })
  await rowOf(client).getByText(`server ${ensemble.leader}`).waitFor()
  await rowOf(victim).getByText(`server ${withConsole}`).waitFor()
  check('each session has its server, whichever that is', true)
  await page.getByLabel('Id, address or identity').fill(id.slice(-9))
  await rowOf(client).waitFor({ state: 'detached' })
  await page.waitForURL(/filter=/)
  check('sessions are found by their id', (await rowOf(victim).count()) === 1)
  await page.getByLabel('Id, address or identity').fill('')
  await page.getByRole('button', { name: `End session ${id}` }).click()
  await stage.axe(page, 'the end of a session')
  await page.locator('dialog').getByRole('button', { name: 'End session' }).click()
  await victim.ended
  await client.must('sync', { path: '/' })
  check('a session is ended, with its ephemerals', !(await stage.exists('/app/victim')))
}
