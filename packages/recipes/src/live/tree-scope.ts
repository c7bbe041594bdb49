import type { Client, WatchOptions } from '@zabra/client'
import { tellProblem } from './problem.ts'

/** A filter has thrown. */
export interface TreeProblem {
  readonly path: string
  /** The error of the filter. */
  readonly problem: unknown
}

export interface TreeScopeOptions {
  /** How far below the node: 0 for the node alone, 1 for its children too. No limit by default. */
  readonly depthMax?: number | undefined
  /**
   * Whether to include a node below; if not, everything below it is excluded as well. It may be
   * called more than once, and must return the same each time. If it throws, the node is excluded.
   */
  readonly include?: ((path: string) => boolean) | undefined
  /** Called if `include` throws. */
  readonly onProblem?: ((problem: TreeProblem) => void) | undefined
}

/** The events that a watch must report if only a part of a tree is included. */
export function watchedPart(
  client: Client,
  { depthMax, include, onProblem }: TreeScopeOptions,
): Pick<WatchOptions, 'recursive' | 'depthMax' | 'include'> {
  // A watch on the node alone saves the server from reporting everything below.
  const depth = { recursive: depthMax !== 0, depthMax }
  if (typeof include !== 'function') return { ...depth, include }
  const includeOrTell = (path: string): boolean => {
    try {
      return include(path)
    } catch (problem) {
      tellProblem<TreeProblem>(client, onProblem, { path, problem })
      return false
    }
  }
  return { ...depth, include: includeOrTell }
}
