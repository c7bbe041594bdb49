/** Locks, elections, queues and groups, of zabra, Curator and kazoo at once; deadlocks; sessions. */
import { createFlags } from '@zabra/protocol'
import type { Page } from 'playwright-core'
import type { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { Stage as Recipes } from '../recipes/stage.ts'
import { players, prepareTroupe } from '../recipes/troupe.ts'
import { check, type Stage } from './stage.ts'

export async function coordination(stage: Stage): Promise<void> {
  const { ensemble, withConsole } = stage
  const address = ensemble.connectString(withConsole)
  const troupe = await prepareTroupe()
  await using recipes = await Recipes.open(address, troupe)
  const present = players.filter((player) => !('missing' in troupe[player]))
  for (const player of players) {
    const command = troupe[player]
    if ('missing' in command) console.log(`!!! NOT RUN with ${player}: ${command.missing}`)
  }
  const page = await stage.open('light', 1200, 1000)
  const card = (path: string) =>
    page
      .locator('article.coordination')
      .filter({ has: page.getByRole('link', { name: path, exact: true }) })
  const words = (path: string): Promise<string[]> => card(path).locator('li .badge').allInnerTexts()

  // --- one lock each, held and waited for ---------------------------------------------------
  await stage.client.create('/locks')
  // The parents of queues are looked for every 20 seconds.
  await makeOthers(stage)
  await stage.goTo(page, '#/locks')
  for (const player of present) {
    const path = `/locks/of-${player}`
    const [first, second, third] = await Promise.all(
      ['one', 'two', 'three'].map((name) => recipes.hand(player, name)),
    )
    first!.tell('acquire', 'lock', path)
    await first!.hear('held')
    for (const hand of [second!, third!]) {
      hand.tell('acquire', 'lock', path)
      await untilContenders(stage.client, path, hand === second ? 2 : 3)
    }
    await card(path).locator('li').nth(2).waitFor()
    const standing = await words(path)
    check(
      `a lock of ${player} has its holder and two waiters in order`,
      standing.join() === 'holds,waits,waits',
      standing,
    )
    const order = await inOrder(stage.client, path)
    const shown = await card(path)
      .locator('li a:first-child')
      .evaluateAll((links) =>
        links
          .map((link) => decodeURIComponent((link as unknown as { hash: string }).hash))
          .filter((hash) => hash.includes('path=')),
      )
    check(
      `${player}'s contenders are in the order of their numbers`,
      shown.length === 3 && order.every((name, at) => shown[at]!.endsWith(name)),
      { order, shown },
    )
    first!.tell('release')
    await first!.hear('released')
    await second!.hear('held')
    await card(path).locator('li').nth(2).waitFor({ state: 'detached' })
    check(`the next of ${player} holds it`, (await words(path)).join() === 'holds,waits')
    await checkPast(stage, page, path)
    second!.tell('release')
    await second!.hear('released')
    await third!.hear('held')
    third!.tell('release')
    await third!.hear('released')
  }

  // --- one lock for all three libraries --------------------------------------------------------
  const shared = '/locks/shared'
  const hands = await Promise.all(
    present.map(async (player) => ({ player, hand: await recipes.hand(player, 'shared') })),
  )
  for (const [at, { player, hand }] of hands.entries()) {
    // kazoo names its znodes as it likes; so named, Curator and zabra know them.
    hand.tell('acquire', player === 'kazoo' ? 'lock:named' : 'lock', shared)
    if (at === 0) await hand.hear('held')
    await untilContenders(stage.client, shared, at + 1)
  }
  await stage.goTo(page, '#/locks')
  await card(shared)
    .locator('li')
    .nth(present.length - 1)
    .waitFor()
  const mixed = await words(shared)
  check(
    `a lock shared by ${present.join(', ')} has one holder and the others in order`,
    mixed.join() === ['holds', ...present.slice(1).map(() => 'waits')].join(),
    mixed,
  )
  for (const [at, { hand }] of hands.entries()) {
    if (at > 0) await hand.hear('held')
    hand.tell('release')
    await hand.hear('released')
  }

  // --- a deadlock of two, each with a lock that the other one wants ---------------------------
  const [one, two] = await makeDeadlock(stage, recipes)
  await page.getByRole('heading', { name: 'Deadlock of 2 sessions' }).waitFor()
  const sentences = await page.locator('.alarm-box li').allInnerTexts()
  check(
    'a deadlock of two is one deadlock, with both sessions and both locks',
    sentences.length === 2 &&
      [one, two].every((id) =>
        sentences.some((text) => text.includes(`(${id})`) || text.includes(id)),
      ) &&
      ['/locks/a', '/locks/b'].every((path) => sentences.some((text) => text.includes(path))),
    sentences,
  )
  check(
    'the graph has the circle',
    (await page.locator('.arrow.circle').count()) === 2 &&
      (await page.locator('.waits .session.circle').count()) === 2,
  )
  const cut = await page.evaluate<string[]>(`(() => {
    const svg = document.querySelector('.waits svg').getBoundingClientRect()
    return [...document.querySelectorAll('.arrow text')]
      .filter((each) => {
        const { left, right } = each.getBoundingClientRect()
        return left < svg.left || right > svg.right
      })
      .map((each) => each.textContent)
  })()`)
  check('no text of the graph is cut off', cut.length === 0, cut)
  check(
    'both locks stand out before all others',
    (await page.locator('article.coordination h3').allInnerTexts()).slice(0, 2).join() ===
      '/locks/a,/locks/b',
  )
  await card('/team').waitFor()
  await card('/jobs').waitFor()
  check('a queue has its items in order', (await words('/jobs')).slice(0, 2).join() === 'next,2')
  check(
    'a group has its members',
    (await words('/team')).every((word) => word === 'member'),
  )
  check('an election has its leader', (await words('/election'))[0] === 'leads')
  check('a semaphore has its holders', (await words('/pool/leases')).join() === 'holds,holds')
  await page.getByRole('searchbox').fill('team')
  await card('/jobs').waitFor({ state: 'detached' })
  check('a filter is in the address', page.url().includes('text=team'))
  await page.getByRole('searchbox').fill('')
  await stage.axe(page, 'a deadlock')

  for (const theme of ['light', 'dark'] as const) {
    const themed = await stage.open(theme, 1200, 1000)
    await stage.goTo(themed, '#/locks')
    await themed.locator('.arrow').first().waitFor()
    await stage.axe(themed, `locks with a deadlock, ${theme}`)
    await stage.picture(themed, `locks-${theme}`)
    await themed.context().close()
  }
  const phone = await stage.open('dark', 390, 800)
  await stage.goTo(phone, '#/locks')
  await phone.locator('.arrow').first().waitFor()
  await stage.fits(phone, 'the locks on a phone')
  await stage.axe(phone, 'the locks on a phone')
  await stage.picture(phone, 'phone-locks-dark')
  await phone.context().close()

  // --- a session of it, and its end ------------------------------------------------------------
  await stage.signIn(page)
  await page.locator('.alarm-box a', { hasText: two }).first().click()
  await page.getByText('It is part of a deadlock of 2 sessions').waitFor()
  const holding = await page
    .getByRole('region', { name: 'Locks of the session' })
    .locator('tbody .badge')
    .allInnerTexts()
  check(
    'a session says what it holds and waits for',
    holding.toSorted().join() === 'holds,waits, 1 in line',
    holding,
  )
  await stage.axe(page, 'a session')
  await stage.picture(page, 'session-light')
  await page.getByRole('button', { name: 'End session' }).click()
  await page.getByText('2 ephemeral znodes are deleted').waitFor()
  await page.locator('dialog').getByRole('button', { name: 'End session' }).click()
  await page.getByText('There is no such session any more.').waitFor()
  await stage.goTo(page, '#/locks')
  await page.locator('article.coordination').first().waitFor()
  await page.getByRole('heading', { name: 'Deadlock of' }).waitFor({ state: 'detached' })
  check('the deadlock ends with the session', (await page.locator('.arrow.circle').count()) === 0)
  await page.context().close()
}

/** The second holder has just got the lock: the page says since when, and who held it before. */
async function checkPast(stage: Stage, page: Page, path: string): Promise<void> {
  await stage.goTo(page, `#/locks?${new URLSearchParams({ line: path }).toString()}`)
  const rows = page.getByRole('region', { name: 'Holders so far' }).locator('tbody tr')
  await rows.nth(1).waitFor()
  const texts = await rows.allInnerTexts()
  check(
    `${path} knows who held it before`,
    texts.length === 2 && texts[0]!.includes('holds') && texts[1]!.includes('given back'),
    texts,
  )
  await stage.axe(page, `a lock with its past, ${path}`)
  await stage.picture(page, 'lock-light')
  await stage.goTo(page, '#/locks')
}

/** Curator and kazoo hold a lock each and want that of the other; zabra waits behind them. */
async function makeDeadlock(
  { client }: Stage,
  recipes: Recipes,
): Promise<readonly [string, string]> {
  const [a, b] = ['/locks/a', '/locks/b']
  const [curatorA, curatorB] = [
    await recipes.hand('curator', 'billing'),
    await recipes.hand('curator', 'billing-too'),
  ]
  const [kazooA, kazooB] = [
    await recipes.hand('kazoo', 'reports'),
    await recipes.hand('kazoo', 'reports-too'),
  ]
  curatorA.tell('acquire', 'lock', a)
  kazooB.tell('acquire', 'lock:named', b)
  await curatorA.hear('held')
  await kazooB.hear('held')
  const owners = await Promise.all([a, b].map((path) => ownerOf(client, path)))
  curatorB.tell('acquire', 'lock', b)
  kazooA.tell('acquire', 'lock:named', a)
  await untilContenders(client, a, 2)
  await untilContenders(client, b, 2)
  const third = await recipes.hand('zabra', 'mailer')
  third.tell('acquire', 'lock', a)
  await untilContenders(client, a, 3)
  return owners as [string, string]
}

/** The session of the only contender. */
async function ownerOf(client: RawClient, path: string): Promise<string> {
  const [name] = await childrenOf(client, path)
  const { stat } = await client.must('exists', { path: `${path}/${name}`, watch: false })
  return `0x${BigInt.asUintN(64, stat.ephemeralOwner).toString(16)}`
}

async function makeOthers({ client, other }: Stage): Promise<void> {
  const { ephemeral, ephemeralSequential, persistentSequential } = createFlags
  await client.create('/election')
  await client.create('/election/a-latch-', 'node-a', ephemeralSequential)
  await other.create('/election/b-latch-', 'node-b', ephemeralSequential)
  await client.create('/team')
  for (const name of ['ann', 'bob', 'eve'])
    await client.create(`/team/${name}`, `10.0.0.7:${name}`, ephemeral)
  await client.create('/jobs')
  for (let i = 0; i < 4; i++)
    await client.create('/jobs/entry-100-', `job ${i}`, persistentSequential)
  await client.create('/pool')
  await client.create('/pool/leases')
  await client.create('/pool/leases/_c_1-lease-', 'worker-1', ephemeralSequential)
  await other.create('/pool/leases/_c_2-lease-', 'worker-2', ephemeralSequential)
}

async function childrenOf(client: RawClient, path: string): Promise<readonly string[]> {
  await client.must('sync', { path: '/' })
  const found = await client.call('exists', { path, watch: false })
  if (found.err !== 0) return []
  const { children } = await client.must('getChildren', { path, watch: false })
  return (children ?? []).filter((name): name is string => name !== null)
}

async function untilContenders(client: RawClient, path: string, count: number): Promise<void> {
  const deadline = Date.now() + 15_000
  while ((await childrenOf(client, path)).length < count) {
    if (Date.now() > deadline) throw new Error(`${path} has fewer than ${count} contenders`)
  }
}

/** By their numbers, which is the order in which they get the lock. */
async function inOrder(client: RawClient, path: string): Promise<readonly string[]> {
  const numberOf = (name: string): number => Number(/\d{10}$/.exec(name)?.[0])
  return (await childrenOf(client, path)).toSorted((a, b) => numberOf(a) - numberOf(b))
}
