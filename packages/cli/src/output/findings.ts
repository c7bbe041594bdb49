import type { Finding } from '../ensemble/judge.ts'
import type { Output } from './output.ts'

/** Prints findings, problems in red; the advice stands below each. */
export function printFindings(findings: readonly Finding[], out: Output): void {
  const { green, yellow, red, dim } = out.style
  const marks = { ok: green('ok'), warning: yellow('warning'), problem: red('problem') }
  for (const { check, verdict, message, advice } of findings) {
    out.line(`${marks[verdict]}${' '.repeat(9 - verdict.length)}${check}: ${message}`)
    if (advice !== undefined && verdict !== 'ok') out.line(dim(`         ${advice}`))
  }
}
