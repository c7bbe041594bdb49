/** The first difference between two transcripts, and its description. */
import type { StepResult, Transcript } from './play/transcript.ts'
import type { Program, Step } from './program/program.ts'

export interface Difference {
  readonly program: Program
  /** The step of the first difference; one past the last step for the remaining tree. */
  readonly at: number
  readonly reference: Transcript
  readonly candidate: Transcript
}

export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

const fieldsMax = 6

/** The places where two values differ, each as `place: reference X  candidate Y`. */
function differingFields(reference: unknown, candidate: unknown): string[] {
  const found: string[] = []
  const visit = (a: unknown, b: unknown, place: string) => {
    if (found.length > fieldsMax || same(a, b)) return
    if (isObject(a) && isObject(b) && Array.isArray(a) === Array.isArray(b)) {
      const keys = new Set([...Object.keys(a), ...Object.keys(b)])
      for (const key of keys) visit(a[key], b[key], place === '' ? key : `${place}.${key}`)
      return
    }
    found.push(`${place}: reference ${JSON.stringify(a)}  candidate ${JSON.stringify(b)}`)
  }
  visit(reference, candidate, '')
  return found
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** A short name for the kind of difference, the same for many seeds with one cause. */
export function kindOf({ program, at, reference, candidate }: Difference): string {
  const [first = ''] = differingFields(reference[at], candidate[at])
  const field = first
    .replace(/^received\./, '')
    .replace(/\.\d+/g, '.#')
    .replace(/^\d+/, '#')
    .replace(/"z[+-]?\d+"/g, 'z')
    .replace(/S\d+/g, 'S')
    .slice(0, 160)
  return `${stepName(program.steps[at])} | ${field}`
}

function stepName(step: Step | undefined): string {
  if (step === undefined) return 'final tree'
  switch (step.do) {
    case 'op':
      return step.request.op
    case 'connect':
      return `connect ${step.how}`
    case 'flw':
      return `flw ${step.word}`
    default:
      return step.do
  }
}

/** The steps before the difference, then the answers of each side. */
export function describe(difference: Difference, historyLength = 12): string {
  const { program, at, reference, candidate } = difference
  const lines: string[] = []
  for (let i = Math.max(0, at - historyLength); i <= at; i++) {
    const step = program.steps[i]
    lines.push(`  step ${i}: ${step === undefined ? 'final tree' : JSON.stringify(step)}`)
    if (i < at) lines.push(`     both: ${clip(reference[i], 600)}`)
  }
  lines.push(`     reference: ${clip(reference[at], 3000)}`)
  lines.push(`     candidate: ${clip(candidate[at], 3000)}`)
  for (const field of differingFields(reference[at], candidate[at])) {
    lines.push(`     differs at ${field}`)
  }
  return lines.join('\n')
}

function clip(result: StepResult | undefined, length: number): string {
  return (JSON.stringify(result) ?? 'nothing').slice(0, length)
}
