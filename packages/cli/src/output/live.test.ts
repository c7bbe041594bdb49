import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { clip } from './clip.ts'
import { showLive } from './live.ts'
import { Output } from './output.ts'
import { sparkline } from './sparkline.ts'
import { chooseStyle } from './style.ts'

function output(isTerminal: boolean): { out: Output; text: () => string } {
  const stdout = Object.assign(new PassThrough(), { isTTY: isTerminal, columns: 10, rows: 4 })
  const stderr = new PassThrough()
  const out = new Output(
    { stdin: new PassThrough(), stdout, stderr, env: {} },
    { json: false, quiet: false, color: 'never' },
  )
  return { out, text: () => String(stdout.read() ?? '') }
}

async function shown(isTerminal: boolean): Promise<string> {
  const { out, text } = output(isTerminal)
  const frames = [['one', 'a line that is too long', 'c', 'd', 'e'], ['two']]
  const { signal } = new AbortController()
  await showLive(out, { intervalMs: 0, count: 2, signal }, async () => frames.shift())
  return text()
}

test('on a terminal, frames fit a screen of their own, and the last one stays', async () => {
  const text = await shown(true)
  const [before, ...screens] = text.split('\u001b[H')
  expect(before).toBe('\u001b[?1049h\u001b[?25l')
  expect(screens[0]).toBe('one\u001b[K\na line tha\u001b[K\nc\u001b[K\n\u001b[J')
  expect(screens[1]).toBe('two\u001b[K\n\u001b[J\u001b[?25h\u001b[?1049ltwo\n')
})

test('elsewhere one frame follows the other', async () => {
  expect(await shown(false)).toBe('one\na line that is too long\nc\nd\ne\ntwo\n')
})

test('the terminal is given back where a frame fails', async () => {
  const { out, text } = output(true)
  let count = 0
  const showing = showLive(
    out,
    { intervalMs: 0, count: 9, signal: new AbortController().signal },
    async () => {
      if (count++ > 0) throw new Error('no answer')
      return ['one']
    },
  )
  await expect(showing).rejects.toThrow('no answer')
  expect(text().endsWith('\u001b[?25h\u001b[?1049lone\n')).toBe(true)
})

const { red } = chooseStyle(true, 'always', {})

test('a clipped line keeps its colors in pairs, and counts wide characters twice', () => {
  expect(clip(`a${red('bcd')}e`, 3)).toBe(`a${red('bc')}`)
  expect(clip('日本語', 5)).toBe('日本')
  expect(clip('short', 5)).toBe('short')
})

test('a row of bars follows its numbers', () => {
  expect(sparkline([0, 50, 100])).toBe('▁▅█')
  expect(sparkline([0, 0])).toBe('▁▁')
})
