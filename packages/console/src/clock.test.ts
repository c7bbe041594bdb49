import { expect, test } from 'vitest'
import { noteDate, serverNowMs } from './clock.ts'

const aheadMs = (): number => serverNowMs() - Date.now()

test('the clock of the server counts where it differs by more than an answer can take', () => {
  noteDate(new Date(Date.now() + 3_600_000).toUTCString())
  expect(Math.abs(aheadMs() - 3_600_000)).toBeLessThan(1500)
  noteDate(null)
  noteDate('nonsense')
  expect(Math.abs(aheadMs() - 3_600_000)).toBeLessThan(1500)
  noteDate(new Date().toUTCString())
  expect(aheadMs()).toBe(0)
})
