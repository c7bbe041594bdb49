import { expect, test } from 'vitest'
import { describeKeys } from './describe.ts'
import { environmentName, keyNames, keys, sections } from './keys.ts'

test('docs/configuration.md equals the table of keys', async () => {
  await expect(describeKeys()).toMatchFileSnapshot('../../../../docs/configuration.md')
})

test('every key is in exactly one chapter', () => {
  const described = sections.flatMap((section) => Object.keys(section.keys))
  expect(described.toSorted()).toEqual(keyNames.toSorted())
})

test('no two keys share a variable of the environment', () => {
  expect(new Set(keyNames.map(environmentName)).size).toBe(keyNames.length)
})

test('every unused key explains its meaning', () => {
  const silent = Object.entries(keys).filter(([, { use, notice }]) => use === 'unused' && !notice)
  expect(silent).toEqual([])
})
