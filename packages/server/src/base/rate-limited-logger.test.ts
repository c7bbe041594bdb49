import { expect, test } from 'vitest'
import { limitRate } from './rate-limited-logger.ts'
import type { Logger } from './logger.ts'

function setUp(options: { linesMax?: number; kindsMax?: number } = {}): {
  logger: Logger
  lines: string[]
  passInterval: () => void
} {
  const lines: string[] = []
  let waiting: (() => void)[] = []
  const write = (level: string) => (message: string) => void lines.push(`${level} ${message}`)
  const base = { info: write('info'), warn: write('warn'), error: write('error') }
  const later = (done: () => void): void => void waiting.push(done)
  const passInterval = (): void => {
    const due = waiting
    waiting = []
    for (const done of due) done()
  }
  return { logger: limitRate(base, { linesMax: 3, ...options, later }), lines, passInterval }
}

test('of many lines of one kind a few are written, and then how many more there were', () => {
  const { logger, lines, passInterval } = setUp()
  for (let i = 0; i < 50_000; i++)
    logger.warn(`refused a connection from 10.0.0.${i % 256}: ${i} are open`)
  logger.warn('the disk is slow')
  expect(lines).toHaveLength(4)
  passInterval()
  expect(lines).toHaveLength(5)
  expect(lines.at(-1)).toBe(
    'warn 49997 more lines like this were not written: refused a connection from 10.0.0.0: 0 are open',
  )
  logger.warn('refused a connection from 10.0.0.1: 7 are open')
  expect(lines).toHaveLength(6)
})

test('a line that comes now and then is written each time', () => {
  const { logger, lines, passInterval } = setUp()
  for (let i = 0; i < 10; i++) {
    logger.info(`session 0x${i} expired`)
    passInterval()
  }
  expect(lines).toHaveLength(10)
})

test('text that clients choose makes no kinds of its own', () => {
  const { logger, lines } = setUp()
  for (let i = 0; i < 100; i++)
    logger.info(`authentication by ${JSON.stringify(`x "${'y'.repeat(i)}`)} failed`)
  for (let i = 0; i < 100; i++) logger.info(`/${'z'.repeat(i)} is above its quota`)
  expect(lines).toHaveLength(6)
})

test('kinds are bounded, too', () => {
  const { logger, lines } = setUp({ kindsMax: 5 })
  for (let i = 0; i < 1000; i++) logger.info(`kind ${'abcdefghij'.repeat(i)}`)
  expect(lines.length).toBeLessThan(10)
})
