import type { RunResult } from './run.ts'

/** Counts, summed over many runs. */
export type Counts = Map<string, number>

export function addCounts(into: Counts, counts: Iterable<readonly [string, number]>): void {
  for (const [what, count] of counts) into.set(what, (into.get(what) ?? 0) + count)
}

/** A summary in lines: large numbers first, then by kind. */
export function describeCounts(counts: ReadonlyMap<string, number>): string[] {
  const groups = [
    'op: ',
    'workload: ',
    'client: ',
    'failed: ',
    'fault: ',
    'stranded: ',
    'emptied: ',
    'crash in ',
    'server: ',
    'zab: ',
    'linearizability: ',
  ]
  const inGroup = (what: string): boolean => groups.some((group) => what.startsWith(group))
  const list = (entries: readonly (readonly [string, number])[], prefix: string): string =>
    entries.map(([what, count]) => `${what.slice(prefix.length)} ${count}`).join(', ')
  const entries = [...counts]
    .filter(([, count]) => count > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  const lines = [
    list(
      entries.filter(([what]) => !inGroup(what)),
      '',
    ),
  ]
  for (const group of groups) {
    const ofGroup = entries.filter(([what]) => what.startsWith(group))
    if (ofGroup.length > 0) lines.push(`  ${group.trim()} ${list(ofGroup, group)}`)
  }
  return lines
}

const violationsShown = 5
const linesShown = 120

/** The violations, and the transcript that led to them. */
export function describeFailure({ seed, violations, transcript }: RunResult): string[] {
  const isOurs = (line: string): boolean => !line.includes('VIOLATION')
  const steps = transcript.lines.filter(isOurs)
  return [
    `seed ${seed} violates:`,
    ...violations.slice(0, violationsShown).map((violation) => `  - ${violation}`),
    ...(violations.length > violationsShown
      ? [`  and ${violations.length - violationsShown} more`]
      : []),
    steps.length > linesShown
      ? `the last ${linesShown} of ${steps.length} lines:`
      : 'what happened:',
    ...steps.slice(-linesShown),
  ]
}
