import type { FreshProject } from './fresh-project.ts'
import { failed, notRun, ok, type Check } from '../src/checks.ts'

/** The linter of packages reports nothing, at its strictest. */
export function publint(tarballs: readonly string[], project: FreshProject): Check {
  return {
    name: 'publint',
    run: async () => {
      const installed = await project.install('publint')
      if (!installed.ok) return notRun(installed.output)
      for (const tarball of tarballs) {
        const { ok: isClean, output } = await project.tool('publint', tarball, '--strict')
        if (!isClean || !output.includes('All good!')) return failed(output)
      }
      const { output } = await project.tool('publint', '--version')
      return ok(`${tarballs.length} packages clean, ${output.trim()}`)
    },
  }
}
