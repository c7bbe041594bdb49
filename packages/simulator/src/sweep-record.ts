/** Maintains docs/sweeps.md: how many seeds each commit has passed. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { SeedKind } from './run-seed.ts'
import type { Range, Swept } from './sweep.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const path = `${repository}/docs/sweeps.md`

/** Sweeps of one commit and one kind. */
interface Row {
  readonly commit: string
  readonly runs: string
  /** Ranges of seeds, `1..10, 21..30`. */
  readonly seeds: string
  readonly count: number
  readonly failed: number
  readonly perSecond: number
}

/** The commit of the code, or undefined if the code differs from it. */
export function commitOfCode(): string | undefined {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: repository, encoding: 'utf8' }).trim()
  if (git('status', '--porcelain', '--', 'packages') !== '') return undefined
  return git('rev-parse', '--short=10', 'HEAD')
}

export function recordSweep(commit: string, swept: Swept, range: Range, kind: SeedKind): void {
  const { seeds, failed, seconds } = swept
  const last = range.last === Infinity ? range.first + seeds - 1 : range.last
  const row: Row = {
    commit,
    runs: kindOf(kind),
    seeds: `${range.first}..${last}`,
    count: seeds,
    failed: failed.length,
    perSecond: seeds / seconds,
  }
  writeFileSync(path, withRow(readFileSync(path, 'utf8'), row))
}

const rowPattern = /^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) \|$/
const totalPattern = /^In all: /

/** The page with a row added to its table, and an updated total. */
export function withRow(page: string, added: Row): string {
  const lines = page.trimEnd().split('\n')
  const rows = lines.flatMap((line) => parseRow(line) ?? [])
  const same = rows.findIndex(({ commit, runs }) => commit === added.commit && runs === added.runs)
  if (same < 0) rows.push(added)
  else rows[same] = joined(rows[same]!, added)
  const text = lines.filter((line) => parseRow(line) === undefined && !totalPattern.test(line))
  const table = text.findIndex((line) => line.startsWith('|---'))
  const sum = (values: readonly number[]): string => show(values.reduce((a, b) => a + b, 0))
  const count = sum(rows.map((row) => row.count))
  const failed = sum(rows.map((row) => row.failed))
  return [
    ...text.slice(0, table + 1),
    ...rows.map(format),
    ...text.slice(table + 1),
    ...(text.at(-1) === '' ? [] : ['']),
    `In all: ${count} seeds, ${failed} failed.`,
    '',
  ].join('\n')
}

function joined(one: Row, other: Row): Row {
  const seconds = one.count / one.perSecond + other.count / other.perSecond
  const count = one.count + other.count
  return {
    ...one,
    seeds: joinRanges(one.seeds, other.seeds),
    count,
    failed: one.failed + other.failed,
    perSecond: count / seconds,
  }
}

/** A range that begins where the last one ended extends it. */
function joinRanges(ranges: string, added: string): string {
  const [, head = '', first, last] = /^(.*, )?(\d+)\.\.(\d+)$/.exec(ranges) ?? []
  const [next, end] = added.split('..')
  if (first === undefined || Number(last) + 1 !== Number(next)) return `${ranges}, ${added}`
  return `${head}${first}..${end}`
}

function parseRow(line: string): Row | undefined {
  const [, commit, runs, seeds, count, failed, perSecond] = rowPattern.exec(line) ?? []
  if (commit === undefined) return undefined
  return {
    commit,
    runs: runs!,
    seeds: seeds!,
    count: numberIn(count!),
    failed: numberIn(failed!),
    perSecond: Number(perSecond),
  }
}

function format({ commit, runs, seeds, count, failed, perSecond }: Row): string {
  const cells = [`\`${commit}\``, runs, seeds, show(count), show(failed), perSecond.toFixed(1)]
  return `| ${cells.join(' | ')} |`
}

function kindOf({ servers, isChanging, recipe, isTwice }: SeedKind): string {
  const options = [
    servers === undefined ? '' : `--servers ${servers}`,
    isChanging === true ? '--changing' : '',
    recipe === undefined ? '' : recipe === 'any' ? '--recipes' : `--recipe ${recipe}`,
    isTwice === true ? '--twice' : '',
  ].filter((option) => option !== '')
  return options.length === 0 ? 'servers' : options.join(' ')
}

function show(value: number): string {
  return value.toLocaleString('en-US')
}

function numberIn(cell: string): number {
  return Number(cell.replaceAll(',', ''))
}
