import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => vi.restoreAllMocks())

test('two processes get different ports, even if nothing listens on them yet', async () => {
  const [one] = await drawing(0.25)
  const [other] = await drawing(0.25)
  expect(one).toBeDefined()
  expect(other).toBeDefined()
  expect(other).not.toBe(one)
})

/** The ports of another process that draws this number first. */
async function drawing(first: number): Promise<number[]> {
  vi.resetModules()
  const { freePorts } = await import('./free-ports.ts')
  vi.spyOn(Math, 'random').mockReturnValueOnce(first)
  return freePorts(1)
}
