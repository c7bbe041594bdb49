import { AclList, MalformedError, Reader, Writer } from '@zabra/protocol'
import type { SnapshotSource } from '../../state/snapshot-source.ts'
import { nodeBytesMax, type SnapshotSink } from '../../storage/snapshot/snapshot.ts'
import { sliceBytesDefault } from './pace.ts'
import type { PacketLink } from './packet-link.ts'

/** The signature at the end of a snapshot on the wire. */
const signature = 'BenWasHere'
const bufferBytesLeast = 256 * 1024

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
export async function receiveSnapshot(
  link: PacketLink,
  sink: SnapshotSink,
  itemBytesMax = nodeBytesMax,
): Promise<void> {
  const input = new Input(link, itemBytesMax)
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
  /** A larger node or list of ACLs is not one. */
  private readonly itemBytesMax: number
  /** What has arrived is in a part of it. What was read from it before may still be in use. */
  private buffer = new Uint8Array(bufferBytesLeast)
  private start = 0
  private end = 0
  private readonly reader = new Reader()

  constructor(link: PacketLink, itemBytesMax: number) {
    this.link = link
    this.itemBytesMax = itemBytesMax
  }

  async read<T>(what: (reader: Reader) => T): Promise<T> {
    for (;;) {
      const start = this.reader.position
      try {
        return what(this.reader)
      } catch (error) {
        if (!(error instanceof MalformedError)) throw error
        if (this.reader.end - start > this.itemBytesMax) throw error
        await this.more(start)
      }
    }
  }

  /** Keeps what follows `from`, and appends what arrives next. */
  private async more(from: number): Promise<void> {
    const added = await this.link.nextRaw()
    this.start += from
    const needed = this.end - this.start + added.length
    if (this.end + added.length > this.buffer.length) {
      // Twice as much as needed, so that a large node is not copied with each part of it.
      const buffer = new Uint8Array(Math.max(bufferBytesLeast, 2 * needed))
      buffer.set(this.buffer.subarray(this.start, this.end))
      this.end -= this.start
      this.start = 0
      this.buffer = buffer
    }
    this.buffer.set(added, this.end)
    this.end += added.length
    this.reader.reset(this.buffer.subarray(this.start, this.end))
  }

  finish(): void {
    this.link.unread(this.buffer.slice(this.start + this.reader.position, this.end))
  }
}
