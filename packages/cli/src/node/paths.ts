import { UsageError } from '../framework/errors.ts'

export { joinPath } from '@zabra/protocol'

export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/')
  return slash <= 0 ? '/' : path.slice(0, slash)
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** A path as people type it: a slash at the end does not matter. */
export function cleanPath(path: string): string {
  if (!path.startsWith('/'))
    throw new UsageError(`a path starts with /, unlike '${path}'`, `did you mean /${path}?`)
  return path.length > 1 ? path.replace(/\/+$/, '') || '/' : path
}

/** Whether `path` is `top` or below it. */
export function isWithin(path: string, top: string): boolean {
  return top === '/' || path === top || path.startsWith(`${top}/`)
}
