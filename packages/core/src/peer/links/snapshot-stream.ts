import { AclList, MalformedError, Reader, Writer } from '@zabra/protocol'
import type { SnapshotSource } from '../../state/snapshot-source.ts'
import type { SnapshotSink } from '../../storage/snapshot/snapshot.ts'
import { sliceBytesDefault } from './pace.ts'
import type { PacketLink } from './packet-link.ts'

/** The signature at the end of a snapshot on the wire. */
const signature = 'BenWasHere'
/** The maximum size of one node or one ACL list; anything larger is not a snapshot. */
const itemBytesMax = 64 * 1024 * 1024

/**
 * Sends the database while it goes on changing; `pause` lets the loop turn between slices.
 * The form is that of a snapshot file without header and seals.
 */
export async function sendSnapshot(
  link: PacketLink,
  source: SnapshotSource,
  pause: () => Promise<void>,
  sliceBytes = sliceBytesDefault,
): Promise<void> {
  try {
    const writer = new Writer(2 * sliceBytes)
    const sessions = [...source.sessions()]
    writer.int(sessions.length)
    for (const [id, timeoutMs] of sessions) {
      writer.long(id)
      writer.int(timeoutMs)
    }
    const acls = [...source.acls()]
    writer.int(acls.length)
    for (const [id, acl] of acls) {
      writer.long(id)
      AclList.write(writer, [...acl])
    }
    let isMore = true
    while (isMore && !link.isClosed) {
      isMore = source.writeNodes(writer, sliceBytes)
      if (!isMore) {
        writer.ustring('/')
        writer.ustring(signature)
      }
      link.sendRaw(writer.written())
      writer.reset()
      if (isMore) await pause()
    }
  } finally {
    source.release()
  }
}

/** Reads a database from the link into a sink; what follows it stays on the link. */
export async function receiveSnapshot(link: PacketLink, sink: SnapshotSink): Promise<void> {
  const input = new Input(link)
  const sessions = await input.read((reader) => reader.int())
  for (let i = 0; i < sessions; i++) {
    const [id, timeoutMs] = await input.read((reader) => [reader.long(), reader.int()] as const)
    sink.session(id, timeoutMs)
  }
  const acls = await input.read((reader) => reader.int())
  for (let i = 0; i < acls; i++) {
    const [id, acl] = await input.read((reader) => [reader.long(), AclList.read(reader)] as const)
    sink.acl(id, acl)
  }
  while (await input.read((reader) => sink.node(reader)));
  const end = await input.read((reader) => reader.ustring())
  if (end !== signature) throw new MalformedError('the snapshot does not end with its signature')
  input.finish()
}

/** Whatever has arrived, and more of it where that is not enough. */
class Input {
  private readonly link: PacketLink
  private bytes: Uint8Array = new Uint8Array(0)
  private readonly reader = new Reader()

  constructor(link: PacketLink) {
    this.link = link
  }

  async read<T>(what: (reader: Reader) => T): Promise<T> {
    for (;;) {
      const start = this.reader.position
      try {
        return what(this.reader)
      } catch (error) {
        if (!(error instanceof MalformedError)) throw error
        if (this.bytes.length - start > itemBytesMax) throw error
        await this.more(start)
      }
    }
  }

  private async more(start: number): Promise<void> {
    const added = await this.link.nextRaw()
    const kept = this.bytes.subarray(start)
    const bytes = new Uint8Array(kept.length + added.length)
    bytes.set(kept)
    bytes.set(added, kept.length)
    this.bytes = bytes
    this.reader.reset(bytes)
  }

  finish(): void {
    this.link.unread(this.bytes.slice(this.reader.position))
  }
}
