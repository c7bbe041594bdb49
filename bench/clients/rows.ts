import { formatNumber, median } from '../statistics.ts'
import { cell, toLine } from '../table.ts'
import { atLeast, describeTarget, isMet, type Target } from '../targets.ts'
import { npmNames } from './contestants.ts'

/** One line of the report: the rounds of every client, by name. */
export class ClientRow {
  readonly name: string
  readonly unit: string
  readonly isMoreBetter: boolean
  readonly target: Target | undefined
  /** Many requests are in flight at once, so the server may be the limit. */
  readonly isPipelined: boolean
  readonly values = new Map<string, number[]>()

  constructor(
    name: string,
    unit: string,
    isMoreBetter: boolean,
    target?: Target,
    isPipelined = false,
  ) {
    this.name = name
    this.unit = unit
    this.isMoreBetter = isMoreBetter
    this.target = target
    this.isPipelined = isPipelined
  }

  add(client: string, value: number): void {
    this.values.set(client, [...(this.values.get(client) ?? []), value])
  }

  medianOf(client: string): number {
    return median(this.values.get(client) ?? [])
  }

  /** Ours compared with the better one of the npm clients in this row. */
  get ratioToNpm(): number {
    const theirs = npmNames.map((name) => this.medianOf(name)).filter(Number.isFinite)
    if (theirs.length === 0) return NaN
    const best = this.isMoreBetter ? Math.max(...theirs) : Math.min(...theirs)
    return this.medianOf('zabra') / best
  }

  /**
   * Whether the server is the limit: a bare socket that only counts replies is not faster either.
   */
  get isServerBound(): boolean {
    return this.isPipelined && this.medianOf('zabra') >= asGood * this.medianOf('socket')
  }

  get isMissed(): boolean {
    if (this.target === undefined || isMet(this.target, this.ratioToNpm)) return false
    return !this.isServerBound
  }

  /** The verdict in the report. */
  get verdict(): string {
    if (this.isMissed) return '**no**'
    return isMet(this.target!, this.ratioToNpm) ? 'yes' : 'as much as the server can'
  }
}

/** The share of a bare socket's throughput that still counts as equal. */
const asGood = 0.95

export const sequentialTarget = atLeast(2)
export const pipelinedTarget = atLeast(5)

/** A Markdown table of rows, one column per client. */
export function renderRows(
  title: string,
  rows: readonly ClientRow[],
  clients: readonly string[],
): string {
  const others = clients.filter((name) => name !== 'zabra' && !npmNames.some((npm) => npm === name))
  const hasTargets = rows.some((row) => row.target !== undefined)
  const head = [
    '',
    'unit',
    ...clients,
    'zabra / better npm',
    ...others.map((name) => `zabra / ${name}`),
    ...(hasTargets ? ['target', 'met'] : []),
  ]
  const lines = rows.map((row) => [
    row.name,
    row.unit,
    ...clients.map((name) => cell(row.values.get(name) ?? [])),
    formatNumber(row.ratioToNpm),
    ...others.map((name) => formatNumber(row.medianOf('zabra') / row.medianOf(name))),
    ...(row.target === undefined ? [] : [describeTarget(row.target), row.verdict]),
  ])
  const align = head.map((_, column) => (column < 2 ? '---' : '---:'))
  return [`### ${title}`, '', ...[head, align, ...lines].map(toLine), ''].join('\n')
}
