import { parentOf } from '@zabra/protocol'
import { shown } from '../calls/arguments.ts'

export interface ScopeOptions {
  /**
   * How far below the node a recursive watch goes: 0 for the node alone, 1 for its children too.
   */
  readonly depthMax?: number | undefined
  /**
   * Whether to include a node; if not, everything below it is excluded too. It may be called more
   * than once, and must return the same each time. If it throws, the iteration ends with the error.
   */
  readonly include?: ((path: string) => boolean) | undefined
}

/** Decides which nodes are watched: the node itself, and some or all of those below it. */
export class Scope {
  private readonly root: string
  private readonly depthMax: number | undefined
  private readonly include: ((path: string) => boolean) | undefined

  constructor(root: string, { depthMax, include }: ScopeOptions) {
    if (depthMax !== undefined && !(Number.isInteger(depthMax) && depthMax >= 0))
      throw new RangeError(`depthMax is a whole number from 0 on, not ${shown(depthMax)}`)
    if (include !== undefined && typeof include !== 'function')
      throw new TypeError(`include is a function, not ${shown(include)}`)
    this.root = root
    this.depthMax = depthMax
    this.include = include
  }

  /** Whether nothing below the node is included, so that its children need not be listed. */
  isBottom(path: string): boolean {
    return this.depthMax !== undefined && this.depthOf(path) >= this.depthMax
  }

  /** Whether a node is included, given that its parent is and is not at the maximum depth. */
  hasChild(path: string): boolean {
    return this.include === undefined || this.include(path)
  }

  /** Whether a node is included; those in `known` certainly are. */
  has(path: string, known: { has(path: string): boolean }): boolean {
    const { depthMax, include } = this
    if (depthMax === undefined && include === undefined) return true
    if (path === this.root || known.has(path)) return true
    if (depthMax !== undefined && this.depthOf(path) > depthMax) return false
    return include === undefined || (this.has(parentOf(path), known) && include(path))
  }

  private depthOf(path: string): number {
    if (path === this.root) return 0
    const below = this.root === '/' ? path : path.slice(this.root.length)
    return below.split('/').length - 1
  }
}
