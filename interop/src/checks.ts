import { textTable } from './text-table.ts'
import { say } from './tools.ts'

/** The result of a check. */
export type Outcome =
  | { readonly kind: 'ok'; readonly fact: string }
  | { readonly kind: 'failed'; readonly why: string }
  /** Something that it needs is not available. */
  | { readonly kind: 'notRun'; readonly why: string }

export interface Check {
  readonly name: string
  run(): Promise<Outcome>
}

export const ok = (fact = ''): Outcome => ({ kind: 'ok', fact })
export const failed = (why: string): Outcome => ({ kind: 'failed', why: why.trim() })
export const notRun = (why: string): Outcome => ({ kind: 'notRun', why: why.trim() })

/** Runs the checks one after the other; one that throws has failed. */
export async function runAll(all: readonly Check[]): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  for (const check of all) {
    say(check.name)
    outcomes.set(check.name, await check.run().catch((error: unknown) => failed(String(error))))
  }
  return outcomes
}

/** Prints the results, and sets the exit code. */
export function report(outcomes: ReadonlyMap<string, Outcome>): void {
  const words = { ok: 'ok', failed: 'FAIL', notRun: 'NOT RUN' } as const
  const rows = [...outcomes].map(([name, outcome]) => [
    name,
    words[outcome.kind],
    outcome.kind === 'ok' ? outcome.fact : '',
  ])
  console.log(`\n${textTable(rows)}\n`)
  for (const [name, outcome] of outcomes) {
    if (outcome.kind === 'failed') console.log(`FAILED ${name}\n${outcome.why}\n`)
    if (outcome.kind === 'notRun') console.log(`!!! NOT RUN ${name}: ${outcome.why}\n`)
  }
  const count = (kind: Outcome['kind']): number =>
    [...outcomes.values()].filter((outcome) => outcome.kind === kind).length
  if (count('notRun') > 0)
    console.log(`!!! ${count('notRun')} of ${outcomes.size} checks could NOT be run, see above`)
  console.log(`${count('ok')} passed, ${count('failed')} failed`)
  process.exitCode = count('failed') > 0 || count('ok') === 0 ? 1 : 0
}
