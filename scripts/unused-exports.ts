import { readFileSync } from 'node:fs'

const exportPattern =
  /^export (?:abstract )?(?:async )?(?:const|function\*?|class|let)\s+([A-Za-z_$][\w$]*)/gm
const namePattern = /[A-Za-z_$][\w$]*/g

/**
 * Exported functions, classes and constants whose names no other file contains. It goes by words, so
 * it misses those that share their name with something else, and reports none that is used.
 */
export function unusedExports(files: readonly string[]): { file: string; name: string }[] {
  const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]))
  const filesWith = new Map<string, number>()
  for (const text of texts.values()) {
    for (const name of new Set(text.match(namePattern))) {
      filesWith.set(name, (filesWith.get(name) ?? 0) + 1)
    }
  }
  return [...texts].flatMap(([file, text]) =>
    Array.from(text.matchAll(exportPattern), ([, name = '']) => ({ file, name })).filter(
      ({ name }) => filesWith.get(name) === 1,
    ),
  )
}
