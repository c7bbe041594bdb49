import { decodeText, encodeText } from '@zabra/protocol'
import { noNode, type NodeId, type Tree } from './tree.ts'

const quotaRoot = '/zookeeper/quota'
const quotaPrefix = `${quotaRoot}/`
const limitsName = 'zookeeper_limits'
const statsName = 'zookeeper_stats'

/** The numbers in a limits or stats node; -1 is "no limit". Keys we do not know are kept. */
export class QuotaNumbers {
  private readonly values = new Map<string, number>()

  constructor(text = '') {
    for (const piece of text.split(/[,;]+/)) {
      const [key, value] = piece.split('=')
      if (key === undefined || key === '') continue
      const number = Number(value === undefined || value === '' ? '-1' : value)
      this.values.set(key, Number.isSafeInteger(number) ? number : -1)
    }
  }

  get(key: 'count' | 'bytes' | 'countHardLimit' | 'byteHardLimit'): number {
    return this.values.get(key) ?? -1
  }

  set(key: 'count' | 'bytes', value: number): void {
    this.values.set(key, value)
  }

  /** The extra `=` makes readers older than hard limits stop before them. */
  toString(): string {
    const text = `count=${this.get('count')},bytes=${this.get('bytes')}`
    const others = [...this.values.keys()].filter((key) => key !== 'count' && key !== 'bytes')
    if (others.length === 0) return text
    return `${text}=${others
      .toSorted()
      .map((key) => `;${key}=${this.values.get(key)}`)
      .join('')}`
  }
}

/** A subtree holds more than its soft limit. */
export interface QuotaExcess {
  readonly path: string
  readonly what: 'count' | 'bytes'
  readonly used: number
  readonly limit: number
}

/**
 * Limits on subtrees. Limits and usage stand in the tree below /zookeeper/quota; usage is kept up
 * by every server for itself on every change and is no part of any transaction.
 */
export class Quotas {
  /** Told of each change above a soft limit. */
  onExceeded: ((excess: QuotaExcess) => void) | undefined
  private readonly tree: Tree
  private readonly roots = new Set<string>()

  constructor(tree: Tree) {
    this.tree = tree
  }

  created(path: string, dataBytes: number): void {
    if (path.startsWith(quotaPrefix)) {
      const root = quotaPath(path, limitsName)
      if (root !== undefined) this.roots.add(root)
      const counted = quotaPath(path, statsName)
      if (counted !== undefined) this.recount(counted)
    }
    if (this.roots.size > 0) this.use(path, 1, dataBytes)
  }

  deleted(path: string, dataBytes: number): void {
    const root = path.startsWith(quotaPrefix) ? quotaPath(path, limitsName) : undefined
    if (root !== undefined) this.roots.delete(root)
    if (this.roots.size > 0) this.use(path, -1, -dataBytes)
  }

  dataChanged(path: string, bytesDifference: number): void {
    if (this.roots.size > 0) this.use(path, 0, bytesDifference)
  }

  /** Finds all limits anew and counts what they limit: after a snapshot and its log are loaded. */
  rebuild(): void {
    this.roots.clear()
    const top = this.tree.find(quotaRoot)
    if (top !== noNode) this.findRoots(top)
    for (const root of this.roots) this.recount(root)
  }

  /** Whether a change would exceed a hard limit; usage is what is committed. */
  isExceeded(path: string, countDifference: number, bytesDifference: number): boolean {
    const root = this.rootOf(path)
    if (root === undefined) return false
    const limits = this.read(limitsPath(root))
    const usage = this.read(statsPath(root))
    if (limits === undefined || usage === undefined) return false
    const countMax = limits.get('countHardLimit')
    if (countDifference !== 0 && countMax > -1 && usage.get('count') + countDifference > countMax) {
      return true
    }
    const bytesMax = limits.get('byteHardLimit')
    return bytesDifference !== 0 && bytesMax > -1 && usage.get('bytes') + bytesDifference > bytesMax
  }

  get hasAny(): boolean {
    return this.roots.size > 0
  }

  /** Limits and usage of every subtree that has a quota: for monitoring. */
  *report(): IterableIterator<{ path: string; limits: QuotaNumbers; usage: QuotaNumbers }> {
    for (const path of this.roots) {
      const limits = this.read(limitsPath(path))
      const usage = this.read(statsPath(path))
      if (limits !== undefined && usage !== undefined) yield { path, limits, usage }
    }
  }

  private use(path: string, countDifference: number, bytesDifference: number): void {
    const root = this.rootOf(path)
    if (root === undefined || this.tree.find(limitsPath(root)) === noNode) return
    const stats = statsPath(root)
    const usage = this.read(stats)
    if (usage === undefined) return
    usage.set('count', usage.get('count') + countDifference)
    usage.set('bytes', usage.get('bytes') + bytesDifference)
    this.write(stats, usage)
    if (countDifference > 0 || bytesDifference > 0) this.warnAbove(root, usage)
  }

  /** Soft limits only make themselves heard. */
  private warnAbove(root: string, usage: QuotaNumbers): void {
    const limits = this.read(limitsPath(root))
    if (limits === undefined || this.onExceeded === undefined) return
    for (const what of ['count', 'bytes'] as const) {
      const limit = limits.get(what)
      const used = usage.get(what)
      if (limit > -1 && used > limit) this.onExceeded({ path: root, what, used, limit })
    }
  }

  /** The deepest limited path at or above this one. */
  private rootOf(path: string): string | undefined {
    if (this.roots.size === 0) return undefined
    for (let at = path; at.length > 1; at = at.slice(0, at.lastIndexOf('/'))) {
      if (this.roots.has(at)) return at
    }
    return undefined
  }

  private recount(root: string): void {
    const usage = new QuotaNumbers()
    const id = this.tree.find(root)
    usage.set('count', id === noNode ? 0 : this.tree.descendantCount(id) + 1)
    usage.set('bytes', id === noNode ? 0 : this.bytesBelow(id))
    this.write(statsPath(root), usage)
  }

  // Both walk in a loop: a tree may be deeper than a recursion can go.

  private bytesBelow(top: NodeId): number {
    const { tree } = this
    const end = tree.successorSkipping(top)
    let bytes = 0
    for (let id = top; id !== end; id = tree.successor(id)) bytes += tree.dataLength(id)
    return bytes
  }

  private findRoots(top: NodeId): void {
    const { tree } = this
    const end = tree.successorSkipping(top)
    for (let id = top; id !== end; id = tree.successor(id)) {
      if (tree.nameOf(id) !== limitsName) continue
      const root = quotaPath(tree.pathOf(id), limitsName)
      if (root !== undefined) this.roots.add(root)
    }
  }

  private read(path: string): QuotaNumbers | undefined {
    const id = this.tree.find(path)
    if (id === noNode) return undefined
    const data = this.tree.data(id)
    return new QuotaNumbers(data === null ? '' : decodeText(data))
  }

  private write(path: string, numbers: QuotaNumbers): void {
    const id = this.tree.find(path)
    if (id !== noNode) this.tree.setLocalData(id, path, encodeText(numbers.toString()))
  }
}

const limitsPath = (root: string): string => `${quotaRoot}${root}/${limitsName}`
const statsPath = (root: string): string => `${quotaRoot}${root}/${statsName}`

/** The limited path a node below /zookeeper/quota speaks of. The root itself cannot be limited. */
function quotaPath(path: string, name: string): string | undefined {
  if (!path.startsWith(quotaPrefix) || !path.endsWith(`/${name}`)) return undefined
  const root = path.slice(quotaRoot.length, path.length - name.length - 1)
  return root === '' ? undefined : root
}
