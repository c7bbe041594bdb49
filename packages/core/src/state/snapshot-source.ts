import type { Acl, Writer } from '@zabra/protocol'

/** The content of a snapshot, read from a database that keeps changing. */
export interface SnapshotSource {
  /** The last transaction that is fully applied when the snapshot starts: names the snapshot. */
  readonly zxid: bigint
  sessions(): Iterable<readonly [id: bigint, timeoutMs: number]>
  acls(): Iterable<readonly [id: bigint, acl: readonly Acl[]]>
  /**
   * Appends whole nodes (path, data, ACL id, StatPersisted) until about `bytesMax` more bytes are
   * written; returns false after the last node.
   */
  writeNodes(writer: Writer, bytesMax: number): boolean
  /** Called after the last node; `digest` is undefined if digests are turned off. */
  finish(): { zxid: bigint; digest: bigint | undefined }
  /** Always called, also after a failure. */
  release(): void
}
