/** Shared by the requests about watches. */
import { watcherTypes } from '@zabra/protocol'
import { anyMode, watchModes } from '../state/watch/watch-table.ts'

/** As in Apache, a client can watch a null path, although nothing ever happens to it. */
export const nullPath = '\0'

/** The tables and modes that a type of watch stands for. */
export function watchesOf(type: number): { data: number; children: number } | undefined {
  const { standard, persistent, recursive } = watchModes
  switch (type) {
    case watcherTypes.children:
      return { data: 0, children: standard }
    case watcherTypes.data:
      return { data: standard, children: 0 }
    case watcherTypes.any:
      return { data: anyMode, children: anyMode }
    case watcherTypes.persistent:
      return { data: persistent, children: persistent }
    case watcherTypes.persistentRecursive:
      return { data: recursive, children: 0 }
    default:
      return undefined
  }
}
