import { expect, test } from 'vitest'
import { generate, type GenerateOptions } from './generate.ts'
import { profiles, type Request } from './program.ts'

const options: GenerateOptions = {
  ensemble: false,
  restart: true,
  fourLetterWords: false,
  quota: true,
  check: false,
}

test('a seed always makes the same program', () => {
  expect(generate(7, options)).toEqual(generate(7, options))
})

test('different seeds make different programs', () => {
  expect(generate(7, options).steps).not.toEqual(generate(8, options).steps)
})

test('every profile turns up', () => {
  const seen = new Set<string>()
  for (let seed = 1; seed <= 200; seed++) seen.add(generate(seed, options).profile)
  expect([...seen].toSorted()).toEqual([...profiles].toSorted())
})

test('requests that keep Apache from starting are left out of programs with restarts', () => {
  for (let seed = 1; seed <= 100; seed++) {
    const requests = generate(seed, options).steps.flatMap((step) => {
      return step.do === 'op' ? [step.request] : step.do === 'burst' ? [...step.requests] : []
    })
    expect(requests.some((request) => request.op === 'check')).toBe(false)
  }
})

test('no burst holds a multi whose plans Apache forgets to take back', () => {
  const flagsOf = (request: Request) => ('flags' in request ? [request.flags] : [])
  const multis = { alone: 0, inBursts: 0 }
  for (let seed = 1; seed <= 100; seed++) {
    for (const step of generate(seed, options).steps) {
      if (step.do !== 'op' && step.do !== 'burst') continue
      const requests = step.do === 'op' ? [step.request] : step.requests
      for (const request of requests) {
        if (request.op !== 'multi') continue
        const isOdd = request.ops.flatMap(flagsOf).some((flags) => flags < 0 || flags > 6)
        if (isOdd) multis[step.do === 'op' ? 'alone' : 'inBursts']++
      }
    }
  }
  expect(multis.alone).toBeGreaterThan(0)
  expect(multis.inBursts).toBe(0)
})
