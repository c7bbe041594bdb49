import { textTable } from '../src/text-table.ts'
import type { Check } from './catalogue.ts'
import type { Client, PreparedClient, UnpreparedClient, Verdicts } from './client.ts'

/** The result of one client. */
export interface Result {
  readonly client: Client
  readonly prepared: PreparedClient | UnpreparedClient
  readonly verdicts: Verdicts
}

export interface Summary {
  readonly text: string
  readonly passed: number
  readonly failed: number
  readonly notRun: number
}

/** A table for each catalogue of checks, then all reasons, then the count. */
export function report(results: readonly Result[]): Summary {
  const run = results.filter((result) => result.prepared.ok)
  const catalogues = new Set(run.map((result) => result.client.checks))
  const tables = [...catalogues].map((checks) =>
    table(
      checks,
      run.filter((result) => result.client.checks === checks),
    ),
  )
  const notes = run.flatMap(notesOf)
  const notRun = results.flatMap(({ client, prepared }) =>
    prepared.ok ? [] : [`!!! NOT RUN ${client.name}: ${prepared.reason}`],
  )
  const all = run.flatMap((result) => [...result.verdicts.values()])
  const passed = all.filter((verdict) => verdict.kind === 'ok').length
  const failed = all.filter((verdict) => verdict.kind === 'failed').length
  const text = [...tables, notes.join('\n'), notRun.join('\n')].filter((part) => part !== '')
  return { text: text.join('\n\n'), passed, failed, notRun: notRun.length }
}

const cells = { ok: 'ok', failed: 'FAIL', absent: '-' } as const

/** Checks in rows, clients in columns. */
function table(checks: readonly Check[], results: readonly Result[]): string {
  const head = ['', ...results.map(columnName)]
  const rows = checks.map(({ name }) => [
    name,
    ...results.map(({ verdicts }) => cells[verdicts.get(name)?.kind ?? 'failed']),
  ])
  return textTable([head, ...rows])
}

/** Adds the release unless the name contains it. */
function columnName({ client, prepared }: Result): string {
  if (!prepared.ok) return client.name
  const family = prepared.version.split('.').slice(0, 2).join('.')
  return client.name.endsWith(family) ? client.name : `${client.name} ${prepared.version}`
}

function notesOf({ client, verdicts }: Result): string[] {
  const lines = [...verdicts].map(([name, verdict]) => {
    if (verdict.kind === 'ok') return undefined
    const word = verdict.kind === 'failed' ? 'FAIL' : '-   '
    return `${word} ${client.name} ${name}: ${verdict.why}`
  })
  return lines.filter((line) => line !== undefined)
}
