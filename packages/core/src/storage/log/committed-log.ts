import { assert } from '../../base/assert.ts'

/** A transaction as it is sent and logged: header, body and digest. */
export interface LoggedTxn {
  readonly zxid: bigint
  readonly payload: Uint8Array
}

/** The most recent committed transactions, to send to learners that were away. */
export class CommittedLog {
  private readonly countMax: number
  private txns: LoggedTxn[] = []

  constructor(countMax = 500) {
    this.countMax = countMax
  }

  get isEmpty(): boolean {
    return this.txns.length === 0
  }

  get min(): bigint {
    return this.txns[0]?.zxid ?? 0n
  }

  get max(): bigint {
    return this.txns.at(-1)?.zxid ?? 0n
  }

  add(txn: LoggedTxn): void {
    assert(this.isEmpty || txn.zxid > this.max, 'transactions are committed in order')
    this.txns.push(txn)
    // Shortened only now and then, because removing the first element moves all others.
    if (this.txns.length >= 2 * this.countMax) this.txns = this.txns.slice(-this.countMax)
  }

  clear(): void {
    this.txns = []
  }

  all(): readonly LoggedTxn[] {
    return this.txns
  }
}
