import type { FreshProject } from './fresh-project.ts'
import { failed, ok, type Check } from './outcome.ts'

/** Wide enough for any machine: what is guarded against is a package that does work at its start. */
const importMsMax = 200
const imports = 9

/** What a stranger gets who installs a package: how much, and how long until it is there. */
export function facts(
  packageName: string,
  project: FreshProject,
  wanted: { readonly packages: readonly string[]; readonly bytesMax: number },
): Check[] {
  return [
    {
      name: `${packageName}: packages`,
      run: async () => {
        const found = project.installed().map(({ name }) => name)
        const text = `${found.length}: ${found.join(', ')}`
        const isRight = found.toSorted().join() === wanted.packages.toSorted().join()
        return isRight ? ok(text) : failed(`${text}; wanted ${wanted.packages.join(', ')}`)
      },
    },
    {
      name: `${packageName}: nothing is run or built on installation`,
      run: async () => {
        const guilty = project.installed().filter(({ manifest }) => {
          const scripts = Object.keys((manifest['scripts'] ?? {}) as object)
          return scripts.some((script) => /^(pre|post)?install$|^prepare$/.test(script))
        })
        return guilty.length === 0 ? ok() : failed(guilty.map(({ name }) => name).join(', '))
      },
    },
    {
      name: `${packageName}: installed size`,
      run: async () => {
        const bytes = project.installedBytes()
        const text = `${Math.round(bytes / 1024)} KB`
        return bytes <= wanted.bytesMax ? ok(text) : failed(`${text} of ${wanted.bytesMax} bytes`)
      },
    },
    {
      name: `${packageName}: import time`,
      run: async () => {
        project.write(
          'import-time.mjs',
          `const beganAt = performance.now()
          await import('${packageName}')
          console.log(performance.now() - beganAt)`,
        )
        const times: number[] = []
        for (let round = 0; round < imports; round++) {
          const result = await project.node('import-time.mjs')
          if (!result.ok) return failed(result.output)
          times.push(Number(result.output))
        }
        const sorted = times.toSorted((a, b) => a - b)
        const [best, median] = [sorted[0]!, sorted[imports >> 1]!]
        const text = `${best.toFixed(1)} ms at best, ${median.toFixed(1)} the median of ${imports}`
        // Others may be at work on the machine: the best is what the package takes.
        return best <= importMsMax ? ok(text) : failed(text)
      },
    },
  ]
}
