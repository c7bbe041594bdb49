import { expect, test } from 'vitest'
import { LogRing } from './log-ring.ts'
import { silent } from './logger.ts'

test('the last lines are kept and numbered, and every line is passed on', () => {
  const passed: string[] = []
  const ring = new LogRing()
  const logger = ring.around({ ...silent, warn: (message) => passed.push(message) })
  for (let i = 1; i <= 2500; i++) logger.warn(`line ${i}`)
  expect(passed).toHaveLength(2500)
  expect(ring.lines).toHaveLength(2000)
  expect(ring.lines[0]).toMatchObject({ number: 501, level: 'warn', message: 'line 501' })
  expect(ring.lines.at(-1)).toMatchObject({ number: 2500 })
})

test('long lines leave less room for others', () => {
  const ring = new LogRing()
  const logger = ring.around(silent)
  for (let i = 0; i < 5; i++) logger.info('x'.repeat(400_000))
  expect(ring.lines.map(({ number }) => number)).toEqual([4, 5])
  logger.error('y'.repeat(5_000_000))
  expect(ring.lines.map(({ level }) => level)).toEqual(['error'])
})

test('listeners hear of each line until they have heard enough', () => {
  const ring = new LogRing()
  const logger = ring.around(silent)
  const heard: string[] = []
  const end = ring.onLine(({ message }) => heard.push(message))
  logger.info('one')
  end()
  logger.info('two')
  expect(heard).toEqual(['one'])
})
