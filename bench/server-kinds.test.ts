import { expect, test } from 'vitest'
import { parseOptions, type Options } from './options.ts'
import { findServers } from './server-kinds.ts'

const find = (servers: string): ReturnType<typeof findServers> =>
  findServers(parseOptions(['--servers', servers]) as Options)

test('a server can have settings of its own', async () => {
  const [plain, without] = await find('zabra,zabra+history.enabled=false+snapCount=1000')
  expect(plain).toMatchObject({ label: 'zabra', config: [] })
  expect(without).toMatchObject({
    label: 'zabra+history.enabled=false+snapCount=1000',
    config: ['history.enabled=false', 'snapCount=1000'],
  })
})

test('the same server twice has two names', async () => {
  expect((await find('zabra,zabra')).map(({ label }) => label)).toEqual(['zabra', 'zabra#2'])
})

test('what is no server, and no setting, is refused', async () => {
  await expect(find('zebra')).rejects.toThrow('no such server: zebra')
  await expect(find('zabra+fast')).rejects.toThrow("a setting is KEY=VALUE, not 'fast'")
})
