/** The tree's details: forms of data, favorites, access in words, quotas, kinds of new znodes. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { check, until, type Stage } from './stage.ts'

const yaml = '# the service\nname: shop\nreplicas: 3\nhosts:\n  - a.example\n  - b.example\n'
const broker = {
  endpoints: ['PLAINTEXT://broker-7.example:9092', 'SSL://broker-7.example:9093'],
  rack: 'rack-2',
  timestamp: '1767225600000',
  version: 5,
}

export async function tree(stage: Stage): Promise<void> {
  const { client } = stage
  await client.create('/data', '')
  await client.create('/data/yaml', yaml)
  await client.create('/data/packed', gzipSync('{"limit":9007199254740993}'))
  await client.create('/data/broken', Buffer.concat([gzipSync('x'.repeat(100)).subarray(0, 20)]))
  await client.create('/brokers', '')
  await client.create('/brokers/ids', '')
  await client.create('/brokers/ids/7', JSON.stringify(broker))
  const page = await stage.open('light')
  const data = page.getByLabel('Data', { exact: true })

  // --- forms -----------------------------------------------------------------------------------
  await stage.show(page, '/data/yaml')
  await page.getByRole('button', { name: 'YAML', pressed: true }).waitFor()
  check('YAML is told, and shown as it is written', (await data.innerText()).trim() === yaml.trim())
  await stage.axe(page, 'YAML')
  await stage.show(page, '/data/packed')
  await page.getByText('gzip, ').waitFor()
  check(
    'what is packed is shown unpacked, with its numbers as they are',
    (await data.innerText()).includes('"limit": 9007199254740993'),
  )
  await page.getByRole('button', { name: 'As stored' }).click()
  await page.getByText('1f 8b').waitFor()
  check('and as it is stored', true)
  await page.getByRole('button', { name: 'As stored' }).click()
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Data of /data/packed').fill('{"limit":1}')
  await page.getByRole('button', { name: 'Save over version 0' }).click()
  await page.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  await client.must('sync', { path: '/' })
  const stored = await client.must('getData', { path: '/data/packed', watch: false })
  check(
    'it is packed again when it is saved',
    gunzipSync(stored.data!).toString() === '{"limit":1}',
  )
  await stage.show(page, '/data/broken')
  await page.getByText('1f 8b').waitFor()
  check(
    'half of something packed is shown as bytes',
    (await page.getByRole('button', { name: 'Edit', exact: true }).count()) === 0,
  )
  await stage.show(page, '/brokers/ids/7')
  await page.getByRole('region', { name: 'Kafka broker 7' }).waitFor()
  check('a known format is told', await page.getByText('rack-2').first().isVisible())
  await stage.axe(page, 'a known format')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save as file' }).click(),
  ])
  check(
    'data is saved as a file',
    download.suggestedFilename().startsWith('7'),
    download.suggestedFilename(),
  )

  // --- favorites -------------------------------------------------------------------------------
  await page.getByRole('button', { name: 'Favorite' }).click()
  const favorites = page.getByRole('navigation', { name: 'Favorites' })
  await favorites.getByRole('link', { name: '/brokers/ids/7' }).waitFor()
  await stage.show(page, '/data')
  await page.reload()
  await favorites.getByRole('link', { name: '/brokers/ids/7' }).click()
  await page.getByRole('region', { name: 'Znode /brokers/ids/7' }).waitFor()
  check('favorites stay, and lead there', true)
  await stage.axe(page, 'favorites')

  // --- quota -----------------------------------------------------------------------------------
  await stage.show(page, '/data')
  const quota = page.getByRole('region', { name: 'Quota' })
  await quota.getByRole('button', { name: 'Set quota' }).click()
  await quota.getByLabel('Znodes, with a warning').fill('10')
  await quota.getByLabel('Bytes, refused above').fill('100000')
  await stage.axe(page, 'a quota')
  await quota.getByRole('button', { name: 'Save quota' }).click()
  await quota.getByText('a warning above 10').waitFor()
  const limits = await stage.read('/zookeeper/quota/data/zookeeper_limits')
  check(
    'a quota is set',
    limits.includes('count=10') && limits.includes('byteHardLimit=100000'),
    limits,
  )
  await quota.getByRole('button', { name: 'Remove quota' }).click()
  await quota.getByText('None.').waitFor()
  check('and removed', !(await stage.exists('/zookeeper/quota/data/zookeeper_limits')))

  // --- new znodes --------------------------------------------------------------------------------
  const create = async (
    name: string,
    fill: (dialog: ReturnType<typeof page.locator>) => Promise<void>,
  ): Promise<void> => {
    await stage.show(page, '/data')
    await page.getByRole('button', { name: 'New child' }).click()
    const dialog = page.locator('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill(name)
    await fill(dialog)
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  await create('ttl', async (dialog) => {
    await dialog.getByLabel('Kind').selectOption('ttl')
    await dialog.getByLabel('Seconds').fill('3600')
  })
  await page.getByText('ttl, 1 h 0 min after the last change').waitFor()
  check('a TTL znode is created', true)
  await create('box', async (dialog) => {
    await dialog.getByLabel('Kind').selectOption('container')
  })
  await page
    .getByRole('region', { name: 'Znode /data/box' })
    .getByText('container')
    .first()
    .waitFor()
  await create('n-', async (dialog) => {
    await dialog.getByLabel('add a number to the name').check()
  })
  await page.getByRole('region', { name: /Znode \/data\/n-\d{10}/ }).waitFor()
  check('containers and sequential znodes are created', await stage.exists('/data/box'))

  // --- access ------------------------------------------------------------------------------------
  await stage.signIn(page)
  await create('mine', async (dialog) => {
    await dialog.getByLabel('Access').selectOption('shared')
    await stage.axe(page, 'the dialog of a new znode')
  })
  await page.getByText('user boss may do everything').waitFor()
  await page.getByText('everybody may read').waitFor()
  check('a new znode has the access that was chosen', true)
  await page.getByRole('button', { name: 'Edit access' }).click()
  const access = page.getByRole('form', { name: 'Access' })
  await access.getByRole('button', { name: 'Add entry' }).click()
  await access.getByLabel('User', { exact: true }).last().fill('ann')
  await access.getByLabel('Password of the user').last().fill('secret')
  await access.getByText('ann may read').waitFor()
  await stage.axe(page, 'the editor of access')
  await stage.picture(page, 'access-light')
  await access.getByRole('button', { name: 'Save access' }).click()
  await page.getByText('user ann may read').waitFor()
  const ann = await RawClient.connect(stage.ensemble.server(stage.withConsole).clientPort)
  await ann.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from('ann:secret') })
  await page.getByRole('button', { name: 'Edit access' }).click()
  await access
    .getByRole('group', { name: 'everybody may read' })
    .getByRole('button', { name: 'Remove' })
    .click()
  await access.getByRole('button', { name: 'Save access' }).click()
  await until(async () => (await page.getByText('everybody may read').count()) === 0)
  await ann.must('sync', { path: '/' })
  check(
    'a user may with the password that was typed what the ACL says, and no more',
    (await ann.call('getData', { path: '/data/mine', watch: false })).err === 0 &&
      (await ann.call('setData', { path: '/data/mine', data: null, version: -1 })).err === -102,
  )
  await ann.close()
  await page.getByRole('button', { name: 'Edit access' }).click()
  await access
    .getByRole('group', { name: 'user boss may do everything' })
    .getByRole('button', { name: 'Remove' })
    .click()
  await access.getByText('You could not change this access any more.').waitFor()
  check('what somebody would lose is said before', true)
  await access.getByRole('button', { name: 'Cancel' }).click()

  // --- how it looks ------------------------------------------------------------------------------
  const phone = await stage.open('dark', 390, 800)
  await stage.show(phone, '/brokers/ids/7')
  await stage.axe(phone, 'a known format on a phone')
  await stage.fits(phone, 'the tree on a phone')
  await phone.context().close()
  for (const theme of ['light', 'dark'] as const) {
    const themed = await stage.open(theme, 1200, 900)
    await stage.show(themed, '/brokers/ids/7')
    await themed.getByRole('button', { name: 'Favorite' }).click()
    await stage.show(themed, '/data/yaml')
    await themed.getByRole('button', { name: 'Favorite' }).click()
    await stage.show(themed, '/brokers/ids/7')
    await stage.picture(themed, `formats-${theme}`)
    await themed.context().close()
  }
}
