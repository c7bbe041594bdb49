import { parentOf } from '@zabra/protocol'
import { hash } from '../world/random.ts'
import type { ModelNode } from './state.ts'

type Bucket = ReadonlyMap<string, ModelNode>

const bucketCount = 32

/**
 * Nodes by path, immutable. A changed tree shares nearly everything with the previous one: siblings
 * are in the same bucket, and only that bucket is copied.
 */
export class Tree {
  private readonly buckets: readonly Bucket[]

  constructor(buckets?: readonly Bucket[]) {
    this.buckets = buckets ?? Array.from({ length: bucketCount }, (): Bucket => new Map())
  }

  get(path: string): ModelNode | undefined {
    return this.buckets[bucketOf(path)]!.get(path)
  }

  has(path: string): boolean {
    return this.buckets[bucketOf(path)]!.has(path)
  }

  with(path: string, node: ModelNode): Tree {
    return this.changed(bucketOf(path), (bucket) => bucket.set(path, node))
  }

  without(path: string): Tree {
    return this.changed(bucketOf(path), (bucket) => bucket.delete(path))
  }

  *[Symbol.iterator](): Generator<readonly [string, ModelNode]> {
    for (const bucket of this.buckets) yield* bucket
  }

  /** The paths of its children. */
  childrenOf(path: string): string[] {
    const bucket = this.buckets[bucketBelow(path)]!
    return [...bucket.keys()].filter((other) => other !== '/' && parentOf(other) === path)
  }

  /** Its buckets; two trees share those in which they are equal. */
  get parts(): readonly Bucket[] {
    return this.buckets
  }

  private changed(at: number, change: (bucket: Map<string, ModelNode>) => void): Tree {
    const bucket = new Map(this.buckets[at])
    change(bucket)
    return new Tree(this.buckets.with(at, bucket))
  }
}

function bucketOf(path: string): number {
  return bucketBelow(parentOf(path))
}

function bucketBelow(parent: string): number {
  return hash(parent) % bucketCount
}
