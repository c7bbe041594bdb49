import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTool } from '../src/tools.ts'

export interface TestOutcome {
  readonly file: string
  readonly name: string
  readonly status: 'passed' | 'failed' | 'skipped'
  /** The first lines of the error. */
  readonly why: string
}

const runMsMax = 900_000
const whyLinesMax = 12

/** The part of vitest's JSON report that is used here. */
interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message?: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages?: readonly string[]
    }[]
  }[]
}

/**
 * Runs test files, which find the server by environment variables, one after another because they
 * share the server. Throws if vitest gives no report.
 */
export async function runTests(
  workspace: string,
  files: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly TestOutcome[]> {
  const folder = mkdtempSync(join(tmpdir(), 'zabra-test-apache-'))
  try {
    const reportFile = join(folder, 'report.json')
    const vitest = join(workspace, 'node_modules', 'vitest', 'vitest.mjs')
    const told = ['--no-file-parallelism', '--reporter=json', `--outputFile=${reportFile}`]
    const { output } = await runTool(process.execPath, [vitest, 'run', ...told, ...files], {
      cwd: workspace,
      timeoutMs: runMsMax,
      env,
    })
    return outcomesOf(workspace, readReport(reportFile, output))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readReport(file: string, output: string): Report {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch {
    throw new Error(`vitest made no report:\n${output.slice(-3000)}`)
  }
}

function outcomesOf(workspace: string, report: Report): readonly TestOutcome[] {
  return report.testResults.flatMap((result) => {
    const file = result.name.replace(`${workspace}/`, '')
    const tests = result.assertionResults.map((test): TestOutcome => {
      const why = firstLines(test.failureMessages?.join('\n') ?? '')
      return { file, name: test.fullName.trim(), status: statusOf(test.status), why }
    })
    const broke = result.status === 'failed' && !tests.some(({ status }) => status === 'failed')
    if (!broke) return tests
    // An error outside of all tests: an import, a hook.
    const why = firstLines(result.message ?? '')
    return [...tests, { file, name: '(the file itself)', status: 'failed' as const, why }]
  })
}

function statusOf(status: string): TestOutcome['status'] {
  if (status === 'passed' || status === 'failed') return status
  return 'skipped'
}

function firstLines(text: string): string {
  // vitest's text for a test that took too long.
  const plain = text.replace('Error: STACK_TRACE_ERROR', 'its time was up')
  const lines = plain.split('\n').filter((line) => !line.includes('node_modules'))
  return lines.slice(0, whyLinesMax).join('\n')
}
