import type { Writer } from '@zabra/protocol'
import { noNode, type NodeId } from './layout.ts'
import { keepScanned, scannedAt, type Keeper, type ScannedPath } from './scanned-path.ts'

const noBody = -1
const lengthBytes = 4

/**
 * The bytes of a create request that outlive it: its path, and if possible data and ACL behind the
 * path. They are kept in one piece, in a keeper's slab, from where the log, the tree and the reply
 * take them. So a create is copied once, and nothing is decoded only to be encoded again.
 */
export class RequestBytes {
  readonly path: ScannedPath
  /** The znode that `apply` made; valid until the next transaction. */
  node: NodeId = noNode
  /** The end of the ACL; the request holds path, data and ACL in the order of the log. */
  private bodyEnd: number

  private constructor(path: ScannedPath, bodyEnd: number) {
    this.path = path
    this.bodyEnd = bodyEnd
  }

  /** Of a request in the keeper's bytes: path, data and ACL, from `start` to `end`. */
  static of(scanned: ScannedPath, keeper: Keeper, start: number, end: number): RequestBytes {
    // A plain path has the same bytes in the request and in the log; other text may be no UTF-8.
    return scanned.isPlain
      ? new RequestBytes(scannedAt(scanned, keeper, start + lengthBytes), end)
      : RequestBytes.ofPath(scanned, keeper)
  }

  /** The path alone. */
  static ofPath(scanned: ScannedPath, keeper: Keeper): RequestBytes {
    return new RequestBytes(keepScanned(scanned, keeper), noBody)
  }

  /** Whether data and ACL are here as well. */
  get hasBody(): boolean {
    return this.bodyEnd !== noBody
  }

  /** Where the data begins, behind its length. */
  get dataStart(): number {
    return this.path.end + lengthBytes
  }

  /** Data or ACL of the transaction are not those of the request. */
  dropBody(): void {
    this.bodyEnd = noBody
  }

  /** Writes the path with its length. */
  writePath(out: Writer): void {
    const { view, start, end } = this.path
    out.int(end - start)
    out.rawView(view, start, end)
  }

  /** Writes path, data and ACL, as the log holds them. */
  writeBody(out: Writer): void {
    const { view, start } = this.path
    out.rawView(view, start - lengthBytes, this.bodyEnd)
  }
}
