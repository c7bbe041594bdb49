import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Code in a document that names a file or folder: it contains a slash, and no placeholder. */
const codeSpan = /`([^`\n]+)`/g
const pathLike = /^[\w.-]+(?:\/[\w.-]+)*\/?$/

/** The paths that a document names in code, outside of code blocks. */
export function pathsIn(markdown: string): string[] {
  const prose = markdown.replace(/^```.*?^```/gms, '')
  const spans = [...prose.matchAll(codeSpan)].map(([, span]) => span!)
  return spans.filter((span) => pathLike.test(span) && (span.includes('/') || isFile(span)))
}

/** The paths of a document that exist below none of the folders. */
export function missingPaths(markdown: string, folders: readonly string[]): string[] {
  const exists = (path: string): boolean => folders.some((folder) => existsSync(join(folder, path)))
  return pathsIn(markdown).filter((path) => !exists(path))
}

function isFile(span: string): boolean {
  return /\.(?:ts|mjs|md|json|svg)$/.test(span)
}
