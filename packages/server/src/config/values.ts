import type { Diagnostics } from './diagnostics.ts'
import type { AnyKey } from './key.ts'
import { keyNames, keyOf } from './keys.ts'
import type { KeyName, Values } from './keys.ts'
import { familyOf } from './sources.ts'
import type { Given, Sources } from './sources.ts'

/** Converts every text to a value, and reports problems and their consequences. */
export function readValues(sources: Sources, hasFile: boolean, report: Diagnostics): Values {
  const values: Partial<Record<KeyName, unknown>> = {}
  for (const name of keyNames) {
    const key = keyOf(name)
    const given = sources.given.get(name)
    const fallback = hasFile ? key.default : (key.withoutFile ?? key.default)
    const value = given === undefined ? fallback : readValue(key, given, report)
    values[name] = value
    if (given !== undefined) tellUse(key, given, report)
  }
  for (const [name, given] of sources.members) {
    const family = familyOf(name)
    if (family !== undefined) tellUse(family, given, report)
  }
  // Each type of the table makes values of its own kind; the compiler cannot see that in a loop.
  return values as Values
}

function readValue(key: AnyKey, { text, origin }: Given, report: Diagnostics): unknown {
  const { type, source } = key
  const value = type.parse(text, source === 'setting' ? 'decimal' : 'prefixed')
  if (value !== undefined) return withinRange(key, value, { text, origin }, report)
  const problem = `expected ${type.expected}, got ${JSON.stringify(text)}`
  if (source === 'setting' || key.strict === true) {
    report.error(origin, problem)
    return key.default
  }
  const instead = 'otherwise' in type ? type.otherwise : key.default
  report.warning(origin, `${problem}; ${shown(key, instead)} is used`)
  return instead
}

function withinRange(key: AnyKey, value: unknown, { origin }: Given, report: Diagnostics): unknown {
  const { min = -Infinity, max = Infinity, outside } = key.range ?? { outside: 'error' }
  if (typeof value !== 'number' || (value >= min && value <= max)) return value
  const bound = value < min ? min : max
  const limit = `must be ${value < min ? 'at least' : 'at most'} ${key.type.format(bound)}`
  const problem = min === max ? `must be ${min}` : limit
  if (outside === 'error') {
    report.error(origin, `${problem}, got ${key.type.format(value)}`)
    return key.default
  }
  const instead = outside === 'nearest' ? bound : key.default
  report.warning(origin, `${problem}; ${shown(key, instead)} is used`)
  return instead
}

function shown(key: AnyKey, value: unknown): string {
  if (value === key.default && key.defaultText !== undefined) {
    return `the default (${key.defaultText})`
  }
  return value === undefined ? 'the default' : key.type.format(value)
}

function tellUse(
  key: Pick<AnyKey, 'use' | 'notice'>,
  { origin }: Given,
  report: Diagnostics,
): void {
  if (key.use === 'unused') report.notice(origin, `has no effect here: ${key.notice}`)
  if (key.use === 'planned') report.warning(origin, 'is not offered yet and has no effect')
}
