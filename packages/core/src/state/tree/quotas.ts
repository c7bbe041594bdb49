import { decodeText, encodeText } from '@zabra/protocol'
import { noNode, type NodeId, type Tree } from './tree.ts'

const quotaRoot = '/zookeeper/quota'
const quotaPrefix = `${quotaRoot}/`
const limitsName = 'zookeeper_limits'
const statsName = 'zookeeper_stats'

type LimitName = 'count' | 'bytes' | 'countHardLimit' | 'byteHardLimit'

/** The numbers in a limits node; -1 means "no limit". */
export class QuotaLimits {
  private readonly values = new Map<string, number>()

  constructor(text: string) {
    for (const piece of text.split(/[,;]+/)) {
      const [key, value] = piece.split('=')
      if (key === undefined || key === '') continue
      const number = Number(value === undefined || value === '' ? '-1' : value)
      this.values.set(key, Number.isSafeInteger(number) ? number : -1)
    }
  }

  get(name: LimitName): number {
    return this.values.get(name) ?? -1
  }
}

/** The count and the bytes of a subtree, its top included. */
export interface QuotaUsage {
  readonly count: number
  readonly bytes: number
}

/** A subtree exceeds its soft limit. */
export interface QuotaExcess {
  readonly path: string
  readonly what: 'count' | 'bytes'
  readonly used: number
  readonly limit: number
}

/**
 * Limits on subtrees. Limits and usage are nodes below /zookeeper/quota. No transaction carries
 * usage: every server counts by itself. Usage therefore depends on the tree alone: each stats node
 * shows the present usage, whatever a client wrote into it, and also if it has no limits node. This
 * way counting step by step, in replay, and after a snapshot gives the same result.
 */
export class Quotas {
  /** Called for each change above a soft limit. */
  onExceeded: ((excess: QuotaExcess) => void) | undefined
  private readonly tree: Tree
  /** Keyed by the path that a stats node counts. */
  private readonly usages = new Map<string, QuotaUsage>()
  private readonly limited = new Set<string>()

  constructor(tree: Tree) {
    this.tree = tree
  }

  created(path: string, dataBytes: number): void {
    if (path.startsWith(quotaPrefix)) {
      const limited = quotaPath(path, limitsName)
      if (limited !== undefined) this.limited.add(limited)
      const counted = quotaPath(path, statsName)
      if (counted !== undefined) {
        this.add(path, 1, 0)
        this.recount(counted)
        return
      }
    }
    this.add(path, 1, dataBytes)
  }

  deleted(path: string, dataBytes: number): void {
    if (path.startsWith(quotaPrefix)) {
      const limited = quotaPath(path, limitsName)
      if (limited !== undefined) this.limited.delete(limited)
      const counted = quotaPath(path, statsName)
      if (counted !== undefined) {
        this.usages.delete(counted)
        this.add(path, -1, 0)
        return
      }
    }
    this.add(path, -1, -dataBytes)
  }

  dataChanged(path: string, bytesDifference: number): void {
    const counted = quotaPath(path, statsName)
    if (counted === undefined) this.add(path, 0, bytesDifference)
    else this.write(counted)
  }

  /** Finds all quotas and recounts their usage, after a snapshot and its log are loaded. */
  rebuild(): void {
    this.usages.clear()
    this.limited.clear()
    const top = this.tree.find(quotaRoot)
    if (top !== noNode) this.findAll(top)
    for (const root of this.usages.keys()) this.recount(root)
  }

  /** Whether a change would exceed a hard limit; pending proposals do not count. */
  isExceeded(path: string, countDifference: number, bytesDifference: number): boolean {
    const root = this.limitedAbove(path)
    if (root === undefined) return false
    const limits = this.limitsOf(root)
    const usage = this.usages.get(root)
    if (limits === undefined || usage === undefined) return false
    const countMax = limits.get('countHardLimit')
    if (countDifference !== 0 && countMax > -1 && usage.count + countDifference > countMax) {
      return true
    }
    const bytesMax = limits.get('byteHardLimit')
    return bytesDifference !== 0 && bytesMax > -1 && usage.bytes + bytesDifference > bytesMax
  }

  get hasAny(): boolean {
    return this.usages.size > 0
  }

  /** Limits and usage of every subtree that has a quota, for monitoring. */
  *report(): IterableIterator<{ path: string; limits: QuotaLimits; usage: QuotaUsage }> {
    for (const path of this.limited) {
      const limits = this.limitsOf(path)
      const usage = this.usages.get(path)
      if (limits !== undefined && usage !== undefined) yield { path, limits, usage }
    }
  }

  private add(path: string, countDifference: number, bytesDifference: number): void {
    if (this.usages.size === 0 || (countDifference === 0 && bytesDifference === 0)) return
    for (let at = path; at.length > 1; at = at.slice(0, at.lastIndexOf('/'))) {
      const before = this.usages.get(at)
      if (before === undefined) continue
      const count = before.count + countDifference
      const usage = { count, bytes: before.bytes + bytesDifference }
      this.usages.set(at, usage)
      this.write(at)
      if (countDifference > 0 || bytesDifference > 0) this.warnAbove(at, usage)
    }
  }

  /** Logs a warning if a soft limit is exceeded. */
  private warnAbove(root: string, usage: QuotaUsage): void {
    if (this.onExceeded === undefined || !this.limited.has(root)) return
    const limits = this.limitsOf(root)
    if (limits === undefined) return
    for (const what of ['count', 'bytes'] as const) {
      const limit = limits.get(what)
      const used = usage[what]
      if (limit > -1 && used > limit) this.onExceeded({ path: root, what, used, limit })
    }
  }

  /** The deepest path at or above this one that has a limit. */
  private limitedAbove(path: string): string | undefined {
    if (this.limited.size === 0) return undefined
    for (let at = path; at.length > 1; at = at.slice(0, at.lastIndexOf('/'))) {
      if (this.limited.has(at)) return at
    }
    return undefined
  }

  private recount(root: string): void {
    const id = this.tree.find(root)
    const count = id === noNode ? 0 : this.tree.descendantCount(id) + 1
    this.usages.set(root, { count, bytes: id === noNode ? 0 : this.bytesBelow(id) })
    this.write(root)
  }

  // Both walks are loops: a tree may be deeper than a recursion can go.

  private bytesBelow(top: NodeId): number {
    const { tree } = this
    const end = tree.successorSkipping(top)
    const mayHoldStats = top === tree.find('/zookeeper') || tree.pathOf(top).startsWith(quotaRoot)
    let bytes = 0
    for (let id = top; id !== end; id = tree.successor(id)) {
      if (!mayHoldStats || !this.isStats(id)) bytes += tree.dataLength(id)
    }
    return bytes
  }

  /**
   * Whether a node is a stats node. Its data is not counted: the count would change the data, and
   * so itself.
   */
  private isStats(id: NodeId): boolean {
    const { tree } = this
    return tree.nameOf(id) === statsName && quotaPath(tree.pathOf(id), statsName) !== undefined
  }

  private findAll(top: NodeId): void {
    const { tree } = this
    const end = tree.successorSkipping(top)
    for (let id = top; id !== end; id = tree.successor(id)) {
      const name = tree.nameOf(id)
      if (name !== limitsName && name !== statsName) continue
      const root = quotaPath(tree.pathOf(id), name)
      if (root === undefined) continue
      if (name === limitsName) this.limited.add(root)
      else this.usages.set(root, { count: 0, bytes: 0 })
    }
  }

  private limitsOf(root: string): QuotaLimits | undefined {
    const id = this.tree.find(limitsPath(root))
    if (id === noNode) return undefined
    const data = this.tree.data(id)
    return new QuotaLimits(data === null ? '' : decodeText(data))
  }

  private write(root: string): void {
    const path = statsPath(root)
    const id = this.tree.find(path)
    const usage = this.usages.get(root)
    if (id === noNode || usage === undefined) return
    this.tree.setLocalData(id, path, encodeText(textOf(usage)))
  }
}

const textOf = ({ count, bytes }: QuotaUsage): string => `count=${count},bytes=${bytes}`
const limitsPath = (root: string): string => `${quotaRoot}${root}/${limitsName}`
const statsPath = (root: string): string => `${quotaRoot}${root}/${statsName}`

/**
 * The path whose limits or usage a node below /zookeeper/quota holds. The root cannot be limited.
 */
function quotaPath(path: string, name: string): string | undefined {
  if (!path.startsWith(quotaPrefix) || !path.endsWith(`/${name}`)) return undefined
  const root = path.slice(quotaRoot.length, path.length - name.length - 1)
  return root === '' ? undefined : root
}
