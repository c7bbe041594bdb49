import { UsageError } from '../framework/errors.ts'

export function joinPath(parent: string, name: string): string {
  return parent === '/' ? `/${name}` : `${parent}/${name}`
}

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

/** `path` with `top` replaced by `other`. */
export function moved(path: string, top: string, other: string): string {
  const rest = top === '/' ? path : path.slice(top.length)
  if (other === '/') return rest === '' ? '/' : rest
  return rest === '/' || rest === '' ? other : other + rest
}
