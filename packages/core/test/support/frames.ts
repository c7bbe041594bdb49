/** Requests as frames, for tests that pass them to a peer without a client. */
import { ConnectRequest, Writer } from '@zabra/protocol'
import type { PeerBase } from '../../src/peer/peer-base.ts'
import type { ClientConnection, ClientLink } from '../../src/service/connection.ts'

/** A link whose client reads everything at once. */
export const idleLink: ClientLink = {
  address: '127.0.0.1',
  unsentBytes: 0,
  flushSoon: () => {},
  flushNow: () => {},
  close: () => {},
  pause: () => {},
  resume: () => {},
}

/** Writes a request after the length of its frame. */
export type WriteFrame = (writer: Writer) => void

export function frame(write: WriteFrame): Uint8Array {
  const writer = new Writer()
  writer.int(0)
  write(writer)
  writer.intAt(0, writer.position - 4)
  return writer.written().slice()
}

/** The handshake of a new session. */
export function handshake(timeOut: number): Uint8Array {
  return frame((writer) =>
    ConnectRequest.write(writer, {
      protocolVersion: 0,
      lastZxidSeen: 0n,
      timeOut,
      sessionId: 0n,
      passwd: new Uint8Array(16),
      readOnly: false,
    }),
  )
}

/** Passes frames on as they would arrive together. */
export function send(
  peer: PeerBase,
  connection: ClientConnection,
  ...frames: readonly (Uint8Array | WriteFrame)[]
): void {
  const bytes = Buffer.concat(
    frames.map((each) => (each instanceof Uint8Array ? each : frame(each))),
  )
  peer.receive(connection, bytes, bytes.length)
}
