/** docs/log-messages.md explains every message of the server's log. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const sources = fileURLToPath(new URL('../src', import.meta.url))
const page = readFileSync(new URL('../../../docs/log-messages.md', import.meta.url), 'utf8')

const code = readdirSync(sources, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  // The loggers themselves only pass on messages of others.
  .filter((name) => !/^base.(event|rate-limited)-logger\.ts$/.test(name))
  .map((name) => readFileSync(join(sources, name), 'utf8'))
  .join('\n')

/** Calls of a logger, and events that are described for one. */
const calls = [
  ...code.matchAll(
    /(?:[lL]ogger\.|[lL]ogger\(\w+\)\.|return |[?:] )(info|warn|error)\(\s*(?:'([^'\n]*)')?/g,
  ),
]
/** The only message that the rate limit produces. */
const suppressed = ['info', 'warn', 'error'].map(
  (level) => `${level} log: suppressed similar lines`,
)
const logged = new Set([...calls.map(([, level, message]) => `${level} ${message}`), ...suppressed])
const explained = new Set(
  [...page.matchAll(/^\| `([^`]+)` \| ([a-z, ]+) \|/gm)].flatMap(([, message, levels]) =>
    levels!.split(', ').map((level) => `${level} ${message}`),
  ),
)

test('the source has messages to explain', () => {
  expect(logged.size).toBeGreaterThan(70)
})

test('every message is `component: text`, and its values are fields', () => {
  expect([...logged].filter((line) => !/^\w+ [a-z]+: [^${}`]+$/.test(line))).toEqual([])
})

test('every message is explained, with its level', () => {
  expect([...logged].filter((line) => !explained.has(line))).toEqual([])
})

test('no message is explained that is not logged', () => {
  expect([...explained].filter((line) => !logged.has(line))).toEqual([])
})
