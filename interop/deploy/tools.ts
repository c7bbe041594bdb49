import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from '../src/apache.ts'
import { failed, notRun, type Check, type Outcome } from '../src/checks.ts'
import { runTool, say, type ToolResult } from '../src/tools.ts'
import { mkdir } from './base-systems.ts'

export const repository = join(import.meta.dirname, '../..')
export const deploy = join(repository, 'deploy')

/** A tool that a check needs and that is not available. */
export class MissingTool extends Error {}

/** A check that passes unless it throws; without a tool it counts as not run. */
export function check(name: string, attempt: () => Promise<string>): Check {
  return {
    name,
    run: async (): Promise<Outcome> => {
      try {
        return { kind: 'ok', fact: await attempt() }
      } catch (error) {
        const { message, stack } = error as Error
        return error instanceof MissingTool ? notRun(message) : failed(stack ?? message)
      }
    },
  }
}

const home = join(cacheDir, 'deploy')

/** Builds a program from the Go proxy; returns its path. */
export async function goTool(name: string, module: string): Promise<string> {
  const program = join(home, 'bin', name)
  if (existsSync(program)) return program
  say(`building ${module}`)
  const GOBIN = mkdir(join(home, 'go', name))
  const built = await runTool('go', ['install', module], { env: { GOBIN }, timeoutMs: 480_000 })
  if (!built.ok) throw new MissingTool(`${module} cannot be built: ${built.output}`)
  const script = `mv "$0"/* "$1"`
  await runTool('sh', ['-c', script, GOBIN, join(mkdir(join(home, 'bin')), name)])
  return program
}

/** Runs a Python program with the packages that check Kubernetes manifests. */
export async function python(args: readonly string[]): Promise<ToolResult> {
  const packages = join(home, 'python')
  if (!existsSync(join(packages, 'kubernetes_validate'))) {
    say('fetching kubernetes-validate with pip')
    const pip = ['-m', 'pip', 'install', '--quiet', '--target', packages]
    const done = await runTool('python3', [...pip, 'kubernetes-validate==1.37.0'], {
      timeoutMs: 300_000,
    })
    if (!done.ok) throw new MissingTool(`kubernetes-validate cannot be had: ${done.output}`)
  }
  return runTool('python3', args, { env: { PYTHONPATH: packages } })
}

/** The output of a tool that must not report anything. */
export async function clean(command: string, args: readonly string[]): Promise<string> {
  const { ok, output } = await runTool(command, args, { timeoutMs: 120_000 })
  if (!ok) throw new Error(output)
  return output
}
