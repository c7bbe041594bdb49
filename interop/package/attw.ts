import type { FreshProject } from './fresh-project.ts'
import { failed, notRun, ok, type Check } from '../src/checks.ts'

/**
 * The types and modules of each package agree, however it is imported. Only ES modules are
 * promised.
 */
export function attw(tarballs: readonly string[], project: FreshProject): Check {
  return {
    name: 'arethetypeswrong',
    run: async () => {
      const installed = await project.install('@arethetypeswrong/cli')
      if (!installed.ok) return notRun(installed.output)
      for (const tarball of tarballs) {
        const args = [tarball, '--profile', 'esm-only', '--no-emoji']
        const { ok: isClean, output } = await project.tool('attw', ...args)
        if (!isClean) return failed(output)
      }
      const { output } = await project.tool('attw', '--version')
      return ok(`${tarballs.length} packages clean, ${output.trim().split('\n')[0]}`)
    },
  }
}
