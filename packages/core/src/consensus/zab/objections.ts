import type { ServerId } from '../../membership/quorum.ts'

const kept = 100

/**
 * The followers that computed another digest of the tree than this leader did, by transaction and
 * digest. Followers that agree with each other, and are a quorum, prove that the leader is wrong.
 */
export class Objections {
  private readonly objecting = new Map<string, Set<ServerId>>()

  /** All that computed the same digest after the same transaction. */
  add(sid: ServerId, zxid: bigint, digest: bigint): ReadonlySet<ServerId> {
    const key = `${zxid} ${digest}`
    let agreeing = this.objecting.get(key)
    if (agreeing === undefined) {
      agreeing = new Set()
      this.objecting.set(key, agreeing)
      const [oldest] = this.objecting.keys()
      if (this.objecting.size > kept) this.objecting.delete(oldest!)
    }
    return agreeing.add(sid)
  }
}
