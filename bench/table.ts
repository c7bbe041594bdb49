import { formatNumber, median } from './statistics.ts'
import { describeTarget, isMet, type Target } from './targets.ts'

/** One row of a table: the rounds of every server, by label. */
export interface Row {
  readonly name: string
  readonly unit: string
  readonly values: ReadonlyMap<string, readonly number[]>
  readonly target?: Target
}

/** A row that is filled while rounds run. */
export class Series implements Row {
  readonly name: string
  readonly unit: string
  readonly values = new Map<string, number[]>()
  readonly target?: Target

  constructor(name: string, unit: string, target?: Target) {
    this.name = name
    this.unit = unit
    if (target !== undefined) this.target = target
  }

  add(label: string, value: number | undefined): void {
    const values = this.values.get(label)
    if (values === undefined) this.values.set(label, [value ?? NaN])
    else values.push(value ?? NaN)
  }

  get isEmpty(): boolean {
    return [...this.values.values()].flat().every((value) => !Number.isFinite(value))
  }
}

export interface TableStyle {
  /** The first label is the one that the others are compared with. */
  readonly labels: readonly string[]
  readonly showTargets: boolean
}

/** A Markdown table: median and spread of each server, ratios, and optionally targets. */
export function renderTable(
  title: string,
  rows: readonly Row[],
  { labels, showTargets }: TableStyle,
): string {
  const [base = '', ...compared] = labels
  const ratios = compared.map((label) => `${label} / ${base}`)
  const head = ['', 'unit', ...labels, ...ratios, ...(showTargets ? ['target', 'met'] : [])]
  const lines = rows.map((row) => [
    row.name,
    row.unit,
    ...labels.map((label) => cell(row.values.get(label) ?? [])),
    ...compared.map((label) => formatRatio(ratioOf(row, base, label))),
    ...(showTargets ? targetCells(row, base, compared[0]) : []),
  ])
  const align = head.map((_, column) => (column < 2 ? '---' : '---:'))
  return [`### ${title}`, '', ...[head, align, ...lines].map(toLine), ''].join('\n')
}

export function ratioOf(row: Row, base: string, label: string): number {
  return median(row.values.get(label) ?? []) / median(row.values.get(base) ?? [])
}

function targetCells(row: Row, base: string, compared: string | undefined): readonly string[] {
  if (row.target === undefined) return ['', '']
  const ratio = compared === undefined ? NaN : ratioOf(row, base, compared)
  return [describeTarget(row.target), isMet(row.target, ratio) ? 'yes' : '**no**']
}

/** Shows a round without a figure, so that the median of the rest does not hide a failure. */
export function cell(values: readonly number[]): string {
  const finite = values.filter(Number.isFinite)
  const missing = values.length - finite.length
  const note = missing > 0 && finite.length > 0 ? ` [${missing} void]` : ''
  const middle = formatNumber(median(finite))
  if (finite.length < 2) return middle + note
  return `${middle} (${formatNumber(Math.min(...finite))}..${formatNumber(Math.max(...finite))})${note}`
}

function formatRatio(ratio: number): string {
  return Number.isFinite(ratio) ? ratio.toFixed(2) : '-'
}

export function toLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
