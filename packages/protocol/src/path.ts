/** The rules for a legal path, and its parts. */

/** The reason why a path is refused, or undefined if it is legal. The rules are those of create. */
export function pathProblem(path: string): string | undefined {
  const { length } = path
  if (length === 0) return 'the path is empty'
  if (path.charCodeAt(0) !== 0x2f) return 'the path does not start with /'
  if (length === 1) return undefined
  if (path.charCodeAt(length - 1) === 0x2f) return 'the path ends with /'
  let start = 1
  for (let i = 1; i <= length; i++) {
    const code = i === length ? 0x2f : path.charCodeAt(i)
    if (code === 0x2f) {
      if (i === start) return `an empty name at ${i}`
      const isDot = path.charCodeAt(start) === 0x2e
      if (isDot && i === start + 1) return `a relative name at ${start}`
      if (isDot && i === start + 2 && path.charCodeAt(start + 1) === 0x2e)
        return `a relative name at ${start}`
      start = i + 1
    } else if (isForbidden(code)) {
      return `a character that is not allowed at ${i}`
    }
  }
  return undefined
}

/** Control characters, surrogates, private use and specials, by UTF-16 unit. */
function isForbidden(code: number): boolean {
  if (code >= 0x20 && code < 0x7f) return false
  return (
    code <= 0x1f ||
    (code >= 0x7f && code <= 0x9f) ||
    (code >= 0xd800 && code <= 0xf8ff) ||
    (code >= 0xfff0 && code <= 0xffff)
  )
}

/**
 * The index of the slash before the last component, or -1. `lastIndexOf` is a call out of
 * JavaScript.
 */
export function lastSlash(path: string): number {
  let at = path.length - 1
  while (at >= 0 && path.charCodeAt(at) !== 0x2f) at--
  return at
}

/** The path of the parent; the root's children have the parent `/`. */
export function parentOf(path: string): string {
  const slash = lastSlash(path)
  return slash <= 0 ? '/' : path.slice(0, slash)
}

/** The last component. */
export function nameOf(path: string): string {
  return path.slice(lastSlash(path) + 1)
}

/** The path of a child. */
export function joinPath(parent: string, name: string): string {
  return parent === '/' ? `/${name}` : `${parent}/${name}`
}
