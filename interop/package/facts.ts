import type { FreshProject } from './fresh-project.ts'
import { failed, ok, type Check } from '../src/checks.ts'

/** A generous limit: it detects a package that does work when it is imported. */
const importCpuMsMax = 200
const imports = 9

/** The size of an installed package, and the time to import it. */
export function facts(
  packageName: string,
  project: FreshProject,
  wanted: { readonly packages: readonly string[]; readonly bytesMax: number },
): Check[] {
  return [
    ...installation(packageName, project, wanted),
    {
      name: `${packageName}: import time`,
      run: async () => {
        project.write(
          'import-time.mjs',
          `const beganAt = performance.now()
          const before = process.cpuUsage()
          await import('${packageName}')
          const { user, system } = process.cpuUsage(before)
          console.log(performance.now() - beganAt, (user + system) / 1000)`,
        )
        const times: { readonly ms: number; readonly cpuMs: number }[] = []
        for (let round = 0; round < imports; round++) {
          const result = await project.node('import-time.mjs')
          if (!result.ok) return failed(result.output)
          const [ms, cpuMs] = result.output.split(' ').map(Number)
          times.push({ ms: ms!, cpuMs: cpuMs! })
        }
        // Other programs that use this machine only add to the time, also to that of the processor.
        const { ms, cpuMs } = times.toSorted((a, b) => a.cpuMs - b.cpuMs)[0]!
        const text = `${ms.toFixed(0)} ms, ${cpuMs.toFixed(0)} of the processor, the least of ${imports}`
        return cpuMs <= importCpuMsMax ? ok(text) : failed(text)
      },
    },
  ]
}

/** The size of the installation, and that no script runs during it. */
export function installation(
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
  ]
}
