import { expect, test } from 'vitest'
import { eventLogger, type EventLogger } from './event-logger.ts'
import { limitRate } from './rate-limited-logger.ts'

function setUp(): { logger: EventLogger; lines: string[]; passInterval: () => void } {
  const lines: string[] = []
  let waiting: (() => void)[] = []
  const write = (level: string) => (line: string) => void lines.push(`${level} ${line}`)
  const base = eventLogger({ info: write('info'), warn: write('warn'), error: write('error') })
  const later = (done: () => void): void => void waiting.push(done)
  const passInterval = (): void => {
    const due = waiting
    waiting = []
    for (const done of due) done()
  }
  return { logger: limitRate(base, { linesMax: 3, later }), lines, passInterval }
}

test('a message that comes often is written a few times, then how many lines were suppressed', () => {
  const { logger, lines, passInterval } = setUp()
  for (let i = 0; i < 50_000; i++) {
    logger.warn('client: refused connection', { address: `10.0.0.${i % 256}` })
  }
  logger.warn('disk: log sync is slow')
  expect(lines).toHaveLength(4)
  passInterval()
  expect(lines).toHaveLength(5)
  expect(lines.at(-1)).toBe(
    'warn log: suppressed similar lines suppressed=49997 message="client: refused connection"',
  )
  logger.warn('client: refused connection', { address: '10.0.0.1' })
  expect(lines).toHaveLength(6)
})

test('a message that comes once per interval is always written', () => {
  const { logger, lines, passInterval } = setUp()
  for (let i = 0; i < 10; i++) {
    logger.info('session: expired', { session: `0x${i}` })
    passInterval()
  }
  expect(lines).toHaveLength(10)
})

test('levels are counted apart', () => {
  const { logger, lines } = setUp()
  for (let i = 0; i < 10; i++) {
    logger.info('a: b')
    logger.error('a: b')
  }
  expect(lines).toHaveLength(6)
})
