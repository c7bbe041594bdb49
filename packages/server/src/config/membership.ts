import { parseProperties } from '@zabra/core'
import type { Diagnostics } from './diagnostics.ts'
import type { Hierarchy } from './ensemble-config.ts'
import { readText } from './files.ts'
import type { Values } from './keys.ts'
import { parseServerLine } from './server-lines.ts'
import type { EnsembleServer } from './server-lines.ts'
import type { Given, Sources } from './sources.ts'

/** The members, according to server, group and weight lines. */
export interface Membership {
  readonly servers: ReadonlyMap<number, EnsembleServer>
  readonly lines: ReadonlyMap<number, Given>
  readonly hierarchy: Hierarchy | undefined
  readonly dynamicConfig: { readonly file: string; readonly version: bigint } | undefined
}

const memberLine = /^(server|group|weight)\./

export function readMembership(
  { members, given }: Sources,
  values: Values,
  report: Diagnostics,
): Membership {
  const file = values.dynamicConfigFile
  const own = [...members].filter(([name]) => memberLine.test(name))
  if (file === undefined) return parseMembers(own, values, undefined, report)
  for (const [, line] of own) {
    report.error(line.origin, `must be in the dynamic configuration file ${file}`)
  }
  const lines = readDynamicFile(file, given.get('dynamicConfigFile'), report)
  const [, hex = '0'] = /\.([0-9a-f]{1,16})$/.exec(file) ?? []
  return parseMembers(lines, values, { file, version: BigInt(`0x${hex}`) }, report)
}

function readDynamicFile(
  file: string,
  given: Given | undefined,
  report: Diagnostics,
): [string, Given][] {
  const read = readText(file)
  if ('problem' in read) {
    report.error(given?.origin, `${file}: ${read.problem}`)
    return []
  }
  const { properties, problems } = parseProperties(read.text)
  for (const { line, key, message } of problems) report.error({ file, line, key }, message)
  const lines = new Map<string, Given>()
  for (const { key, value, line } of properties) {
    const origin = { file, line, key }
    if (memberLine.test(key)) lines.set(key, { text: value.trim(), origin })
    else if (key === 'version') report.error(origin, 'the version belongs in the name of the file')
    else report.error(origin, 'only server, group and weight lines belong in this file')
  }
  return [...lines]
}

function parseMembers(
  lines: readonly (readonly [string, Given])[],
  values: Values,
  dynamicConfig: Membership['dynamicConfig'],
  report: Diagnostics,
): Membership {
  const servers = new Map<number, EnsembleServer>()
  const origins = new Map<number, Given>()
  const groups = new Map<number, readonly number[]>()
  const weights = new Map<number, number>()
  for (const [name, line] of lines) {
    const [kind, idText = ''] = name.split(/\.(.*)/s)
    const id = wholeNumber(idText)
    if (id === undefined) {
      report.error(line.origin, `expected a number after "${kind}.", got ${JSON.stringify(idText)}`)
    } else if (kind === 'server') {
      const parsed = parseServerLine(id, line.text)
      if ('problem' in parsed) report.error(line.origin, parsed.problem)
      else servers.set(id, parsed.value)
      origins.set(id, line)
    } else if (kind === 'group') {
      groups.set(id, numbers(line, report))
    } else {
      weights.set(id, numbers(line, report)[0] ?? 1)
    }
  }
  checkAddresses(servers, origins, values, report)
  const hierarchical = groups.size > 0 || weights.size > 0
  if (hierarchical) checkGroups(servers, origins, groups, report)
  const hierarchy = hierarchical ? { groups, weights } : undefined
  return { servers, lines: origins, hierarchy, dynamicConfig }
}

function numbers({ text, origin }: Given, report: Diagnostics): number[] {
  const parsed = text.split(':').map((part) => wholeNumber(part.trim()))
  const valid = parsed.filter((number) => number !== undefined)
  if (valid.length < parsed.length) {
    report.error(origin, `expected whole numbers, got ${JSON.stringify(text)}`)
  }
  return valid
}

function checkAddresses(
  servers: ReadonlyMap<number, EnsembleServer>,
  lines: ReadonlyMap<number, Given>,
  values: Values,
  report: Diagnostics,
): void {
  for (const [id, { addresses }] of servers) {
    if (addresses.length > 1 && !values['multiAddress.enabled']) {
      report.error(lines.get(id)?.origin, 'several addresses need multiAddress.enabled=true')
    }
  }
}

/** A participant in no group, or in two, would make quorums ambiguous. */
function checkGroups(
  servers: ReadonlyMap<number, EnsembleServer>,
  lines: ReadonlyMap<number, Given>,
  groups: ReadonlyMap<number, readonly number[]>,
  report: Diagnostics,
): void {
  for (const [id, { role }] of servers) {
    if (role !== 'participant') continue
    const count = [...groups.values()].filter((ids) => ids.includes(id)).length
    if (count !== 1) {
      const where = count === 0 ? 'in no group' : 'in more than one group'
      report.error(lines.get(id)?.origin, `is ${where}; every participant must be in exactly one`)
    }
  }
}

function wholeNumber(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
