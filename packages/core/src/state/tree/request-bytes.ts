import type { Writer } from '@zabra/protocol'
import { noNode, type NodeId } from './layout.ts'
import { keepScanned, scannedAt, type Keeper, type ScannedPath } from './scanned-path.ts'

const noBody = -1
const lengthBytes = 4

/**
 * The bytes of a create request that must outlive the request: its path, followed if possible by
 * data and ACL. They are one slice of a keeper's slab, which the log, the tree and the reply all
 * copy from. So a create is copied once, and nothing is decoded only to be encoded again.
 */
export class RequestBytes {
  readonly path: ScannedPath
  /** The znode that `apply` created; valid until the next transaction. */
  node: NodeId = noNode
  /** The end of the ACL. Path, data and ACL are in the order of the log. */
  private bodyEnd: number

  private constructor(path: ScannedPath, bodyEnd: number) {
    this.path = path
    this.bodyEnd = bodyEnd
  }

  /** For a request in the keeper's bytes: path, data and ACL, from `start` to `end`. */
  static of(scanned: ScannedPath, keeper: Keeper, start: number, end: number): RequestBytes {
    // A plain path has the same bytes in the request and in the log; other text may be invalid
    // UTF-8.
    return scanned.isPlain
      ? new RequestBytes(scannedAt(scanned, keeper, start + lengthBytes), end)
      : RequestBytes.ofPath(scanned, keeper)
  }

  /** Keeps the path alone. */
  static ofPath(scanned: ScannedPath, keeper: Keeper): RequestBytes {
    return new RequestBytes(keepScanned(scanned, keeper), noBody)
  }

  /** Whether data and ACL are included. */
  get hasBody(): boolean {
    return this.bodyEnd !== noBody
  }

  /** The start of the data, after its length field. */
  get dataStart(): number {
    return this.path.end + lengthBytes
  }

  /** Called if data or ACL of the transaction differ from those of the request. */
  dropBody(): void {
    this.bodyEnd = noBody
  }

  /** Writes the path with its length. */
  writePath(out: Writer): void {
    const { view, start, end } = this.path
    out.int(end - start)
    out.rawView(view, start, end)
  }

  /** Writes path, data and ACL in the format of the log. */
  writeBody(out: Writer): void {
    const { view, start } = this.path
    out.rawView(view, start - lengthBytes, this.bodyEnd)
  }
}
