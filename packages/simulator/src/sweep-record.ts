/** docs/sweeps.md: which code has stood how many seeds. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { SeedKind } from './run-seed.ts'
import type { Range, Swept } from './sweep.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const path = `${repository}/docs/sweeps.md`
const rowPattern = /^\| `\w+` \| [^|]* \| [^|]* \| ([\d,]+) \| ([\d,]+) \|/

/** Adds a row, and brings the total up to date. */
export function recordSweep(swept: Swept, { first, last }: Range, kind: SeedKind): void {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: repository, encoding: 'utf8' }).trim()
  if (git('status', '--porcelain', '--', 'packages') !== '') {
    console.log('not recorded: the code differs from its commit')
    return
  }
  const commit = git('rev-parse', '--short=10', 'HEAD')
  const { seeds, failed, seconds } = swept
  const range = `${first}..${last === Infinity ? first + seeds - 1 : last}`
  const cells = [`\`${commit}\``, kindOf(kind), range, count(seeds), count(failed.length)]
  const row = `| ${[...cells, (seeds / seconds).toFixed(1)].join(' | ')} |`
  // A sweep that went on has one row.
  const isOfSameSweep = (line: string): boolean =>
    line.startsWith(`| ${cells.slice(0, 3).join(' | ')} |`)
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  const rows = [...lines.filter((line) => rowPattern.test(line) && !isOfSameSweep(line)), row]
  const head = lines.filter((line) => !rowPattern.test(line) && !line.startsWith('In all: '))
  const sum = (column: number): string =>
    count(rows.reduce((total, line) => total + numberIn(rowPattern.exec(line)?.[column]), 0))
  const total = `In all: ${sum(1)} seeds, ${sum(2)} failed.`
  const at = head.findIndex((line) => line.startsWith('| ---') || line.startsWith('|---'))
  const text = [...head.slice(0, at + 1), ...rows, ...head.slice(at + 1), total].join('\n')
  writeFileSync(path, `${text}\n`)
}

function kindOf({ servers, isChanging, recipe }: SeedKind): string {
  const options = [
    servers === undefined ? '' : `--servers ${servers}`,
    isChanging === true ? '--changing' : '',
    recipe === undefined ? '' : recipe === 'any' ? '--recipes' : `--recipe ${recipe}`,
  ].filter((option) => option !== '')
  return options.length === 0 ? 'servers' : options.join(' ')
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

function numberIn(cell = '0'): number {
  return Number(cell.replaceAll(',', ''))
}
