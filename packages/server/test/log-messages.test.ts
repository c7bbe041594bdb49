/** docs/log-messages.md explains every warning and every error that a server can log. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const sources = fileURLToPath(new URL('../src', import.meta.url))
const page = readFileSync(new URL('../../../docs/log-messages.md', import.meta.url), 'utf8')

/** Where a warning or an error begins: a call of a logger, or an event that is described as one. */
const start = /\b\w*[lL]og(?:ger)?\.(?:warn|error)\(|level: '(?:warn|error)',\s*text:/g

/** The text between an opening bracket that was just read and the bracket that closes it. */
function untilClosed(source: string, from: number): string {
  let depth = 1
  for (let at = from; at < source.length; at++) {
    if ('([{'.includes(source[at]!)) depth++
    else if (')]}'.includes(source[at]!) && --depth === 0) return source.slice(from, at)
  }
  return source.slice(from)
}

/** A message as the page writes it: `...` stands for every value. Undefined for one made elsewhere. */
function messagesIn(code: string): string[] {
  const withoutValues = (text: string): string => {
    let out = ''
    for (let at = 0; at < text.length; at++) {
      if (!text.startsWith('${', at)) {
        out += text[at]
        continue
      }
      out += '...'
      at += untilClosed(text, at + 2).length + 2
    }
    return out
  }
  // Alternatives of a conditional are messages of their own; joined literals are one.
  return code.split(/\n\s*[?:] |\? (?=['`"])| : (?=['`"])/).flatMap((part) => {
    const literals = [...part.matchAll(/'((?:[^'\\\n]|\\.)+)'|`([^`]+)`|"((?:[^"\\\n]|\\.)+)"/g)]
    const text = literals.map(([, one, two, three]) => one ?? two ?? three ?? '').join('')
    const message = withoutValues(text).replaceAll(/\s+/g, ' ').trim()
    return /[a-z]{3}/.test(message.replaceAll('...', '')) ? [message] : []
  })
}

function messagesOf(file: string): string[] {
  const source = readFileSync(file, 'utf8')
  return [...source.matchAll(start)].flatMap((match) =>
    messagesIn(untilClosed(source, match.index + match[0].length)),
  )
}

const files = readdirSync(sources, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => join(sources, name))
const logged = new Set(files.flatMap(messagesOf))
const explained = new Set(
  [...page.matchAll(/^\| `([^`]+)` \| (?:warn|error) \|/gm)].map(([, message]) => message!),
)

test('the source has messages to explain', () => {
  expect(logged.size).toBeGreaterThan(20)
})

test('every warning and every error is explained', () => {
  expect([...logged].filter((message) => !explained.has(message))).toEqual([])
})

/** These are put together elsewhere, from the events of the core. */
const fromEvents = new Set([...page.matchAll(/<!-- event: (.*?) -->/g)].map(([, text]) => text!))

test('no message is explained that is not logged', () => {
  const unknown = [...explained].filter((message) => !logged.has(message))
  expect(unknown.filter((message) => !fromEvents.has(message))).toEqual([])
})
