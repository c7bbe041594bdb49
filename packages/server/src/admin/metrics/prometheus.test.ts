import { Histogram, Summary } from '@zabra/core'
import { expect, test } from 'vitest'
import { counter, gauge, summary, type Metric } from './metric.ts'
import { exposition } from './prometheus.ts'

const textOf = (metrics: Metric[]): string => [...exposition(metrics)].join('')

test('each metric has its HELP and TYPE before its value', () => {
  expect(textOf([gauge('a', 1.5, 'First.'), counter('b', 2, 'Second.')])).toBe(
    '# HELP a First.\n# TYPE a gauge\na 1.5\n# HELP b Second.\n# TYPE b counter\nb 2\n',
  )
})

test('metrics of one name share HELP and TYPE', () => {
  const one = { ...gauge('a', 1, 'One.'), key: 'x' }
  const two = { ...gauge('a', 2, 'One.'), key: 'y' }
  expect(textOf([one, two])).toBe('# HELP a One.\n# TYPE a gauge\na{key="x"} 1\na{key="y"} 2\n')
})

test('characters that would break a line are escaped', () => {
  const odd = { ...gauge('a', 1, 'back\\slash and\nnewline'), key: 'quote"\\\n' }
  expect(textOf([odd])).toBe(
    '# HELP a back\\\\slash and\\nnewline\n# TYPE a gauge\na{key="quote\\"\\\\\\n"} 1\n',
  )
})

test('a summary has a sum and a count, a histogram also quantiles', () => {
  const plain = new Summary()
  plain.add(2)
  plain.add(4)
  expect(textOf([summary('s', plain, 'S.')])).toBe(
    '# HELP s S.\n# TYPE s summary\ns_sum 6\ns_count 2\n',
  )
  const measured = new Histogram()
  for (let i = 1; i <= 100; i++) measured.add(i % 50)
  expect(textOf([summary('h', measured, 'H.')])).toContain('h{quantile="0.5"} 24\n')
})

test('quantiles without samples are NaN', () => {
  expect(textOf([summary('h', new Histogram(), 'H.')])).toContain('h{quantile="0.5"} NaN\n')
})
