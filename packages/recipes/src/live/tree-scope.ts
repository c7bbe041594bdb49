import type { Client, WatchOptions } from '@zabra/client'
import { tellProblem } from './problem.ts'

/** That a filter could not say whether a node is of interest. */
export interface TreeProblem {
  readonly path: string
  /** What the filter has thrown. */
  readonly problem: unknown
}

export interface TreeScopeOptions {
  /** How far below the node: 0 for the node alone, 1 for its children too. No limit by default. */
  readonly depthMax?: number | undefined
  /**
   * Whether a node below is of interest; where it is not, nothing below it is looked at either. It
   * may be asked more than once, and must say the same each time. Where it throws, the node is left
   * out.
   */
  readonly include?: ((path: string) => boolean) | undefined
  /** Hears of what `include` throws. */
  readonly onProblem?: ((problem: TreeProblem) => void) | undefined
}

/** What a watch has to tell of, where only some of a tree is of interest. */
export function watchedPart(
  client: Client,
  { depthMax, include, onProblem }: TreeScopeOptions,
): Pick<WatchOptions, 'recursive' | 'depthMax' | 'include'> {
  // A watch of the node alone spares the server to tell of anything below.
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
