import type { Client } from '@zabra/client'

/** The path, if it is one. The client knows what that is without asking a server. */
export function checkedPath(client: Client, path: string): string {
  if (typeof path !== 'string') throw new TypeError(`path is a string, not ${String(path)}`)
  try {
    client.transaction().check(path)
  } catch (error) {
    throw new TypeError(error instanceof Error ? error.message : String(error), { cause: error })
  }
  return path
}

/** So many of something, if that is a number of things. */
export function checkedCount(name: string, count: number): number {
  if (Number.isInteger(count) && count >= 1) return count
  throw new RangeError(`${name} is a whole number from 1 on, not ${count}`)
}
