import type { Acl, Writer } from '@zabra/protocol'

/** The database as a snapshot is taken of it, while it goes on changing. */
export interface SnapshotSource {
  /** Last transaction fully applied when the snapshot starts: its name. */
  readonly zxid: bigint
  sessions(): Iterable<readonly [id: bigint, timeoutMs: number]>
  acls(): Iterable<readonly [id: bigint, acl: readonly Acl[]]>
  /**
   * Appends whole nodes (path, data, ACL id, StatPersisted) until about `bytesMax` more are
   * written; false when there are no more.
   */
  writeNodes(writer: Writer, bytesMax: number): boolean
  /** Asked when the last node is written; no digest when there are none. */
  finish(): { zxid: bigint; digest: bigint | undefined }
  /** Called always, also on failure. */
  release(): void
}
