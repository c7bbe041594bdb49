import { readFileSync } from 'node:fs'

/** The version of this package. */
export function version(): string {
  // The package is one folder above src and dist, and two above dist/bundle.
  for (const folder of ['..', '../..']) {
    const file = new URL(`${folder}/package.json`, import.meta.url)
    try {
      const { name, version: own } = JSON.parse(readFileSync(file, 'utf8')) as Record<
        string,
        string
      >
      if (name === 'zabra' && own !== undefined) return own
    } catch {
      // Not this one.
    }
  }
  return 'unknown'
}
