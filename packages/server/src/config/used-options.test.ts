import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadConfig } from './config.ts'
import { keyNames, keyOf } from './keys.ts'

// An option that is read and never used misleads people. These tests search the sources for each
// name; a comment or a string that contains the name can hide a missing use.

const src = fileURLToPath(new URL('..', import.meta.url))
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
const sourceOf = (isWanted: (name: string) => boolean): string =>
  files
    .filter(isWanted)
    .map((name) => readFileSync(join(src, name), 'utf8'))
    .join('\n')

test('every key with an effect is read, and no other key', () => {
  const readers = sourceOf((name) => /^config\/[^/]+$/.test(name)).replace(
    /values\.|\$\{\w+\}\.?/g,
    '',
  )
  const mentions = (key: string): boolean => {
    // One function reads the three groups of TLS keys and adds their prefixes.
    const name = key
      .replace(/^ssl\.(?:quorum\.|admin\.)?(?:keyStore\.|trustStore\.)?/, '')
      .replaceAll('.', '\\.')
    return new RegExp(`(?<![\\w.])${name}(?![\\w.])`).test(readers)
  }
  const hasEffect = (key: (typeof keyNames)[number]): boolean =>
    ['used', 'ensemble'].includes(keyOf(key).use)
  // Its range has only one value, so it can only be checked.
  const checkedOnly = new Set<string>(['electionAlg'])
  const unread = keyNames.filter((key) => hasEffect(key) && !mentions(key) && !checkedOnly.has(key))
  expect(unread).toEqual([])
  const readInVain = keyNames.filter(
    (key) => !hasEffect(key) && !key.startsWith('ssl.') && mentions(key),
  )
  expect(readInVain).toEqual([])
})

test('every option is used outside the folder of the configuration', () => {
  const members = [1, 2, 3].map((id) => `server.${id}=127.0.0.1:2${id}:3${id};1${id}`).join('\n')
  const { config, diagnostics } = loadConfig({
    env: {},
    text: `dataDir=/d\nmyid=1\ninitLimit=1\nsyncLimit=1\n${members}\n`,
  })
  expect(diagnostics).toEqual([])
  const users = sourceOf((name) => !name.startsWith('config/'))
  const unused = optionsOf({ ...config }).filter((name) => !new RegExp(`\\b${name}\\b`).test(users))
  expect(unused).toEqual([])
})

/** Options that are passed on whole, to a type with the same members. */
const handedOn: ReadonlySet<string> = new Set([
  'connectionThrottle',
  'electionTiming',
  'limits',
  'localSessions',
  'observerMaster',
  'reclaim',
  'settings',
  'syncsMax',
])

function optionsOf(group: object): string[] {
  return Object.entries(group).flatMap(([name, value]) => {
    const isGroup = value !== null && typeof value === 'object' && value.constructor === Object
    return isGroup && !handedOn.has(name) ? [name, ...optionsOf(value)] : [name]
  })
}
