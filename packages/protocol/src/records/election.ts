/** Messages between servers on the election port. */
import { MalformedError } from '../malformed.ts'
import { Reader } from '../reader.ts'
import { decodeText, encodeText } from '../text.ts'
import { Writer } from '../writer.ts'

/** The state of a server: looking for a leader, or its role. */
export type ServerState = 'looking' | 'following' | 'leading' | 'observing'

/** In the order of their numbers on the wire. */
const states: readonly ServerState[] = ['looking', 'following', 'leading', 'observing']

/** Sent in place of a server id by an observer without an id. */
export const anonymousServerId = 0x7fff_ffff_ffff_ffffn

/** Marks a vote for nobody, from servers that do not count. */
export const noVote = -0x8000_0000_0000_0000n

/** The first message on a connection, sent by the server that dialed. */
export interface InitialMessage {
  readonly serverId: bigint
  /** Addresses of the dialing server, as `host:port`; none from releases before 3.5. */
  readonly addresses: readonly string[]
}

const oneAddress = -65_536n
const severalAddresses = -65_535n
const addressBytesMax = 2048
const initialBytesMin = 20

/** The maximum size of an initial message. */
export const initialMessageBytesMax = initialBytesMin + addressBytesMax

/**
 * Reads an initial message and returns its size; undefined while it is incomplete. Throws a
 * MalformedError if it cannot become a valid message.
 */
export function readInitialMessage(
  bytes: Uint8Array,
): { readonly message: InitialMessage; readonly length: number } | undefined {
  if (bytes.length < 8) return undefined
  const reader = new Reader(bytes)
  const version = reader.long()
  // Releases before 3.5 send only their id, and an id is never negative.
  if (version >= 0n) return { message: { serverId: version, addresses: [] }, length: 8 }
  if (version !== oneAddress && version !== severalAddresses) {
    throw new MalformedError(`an initial message of version ${version}`)
  }
  if (bytes.length < initialBytesMin) return undefined
  const serverId = reader.long()
  if (serverId < 0n) throw new MalformedError(`a server id of ${serverId}`)
  const addressBytes = reader.int()
  if (addressBytes <= 0 || addressBytes > addressBytesMax) {
    throw new MalformedError(`an address of ${addressBytes} bytes`)
  }
  const length = initialBytesMin + addressBytes
  if (bytes.length < length) return undefined
  const text = decodeText(bytes, initialBytesMin, length)
  return { message: { serverId, addresses: text.split('|') }, length }
}

/**
 * An initial message as bytes. 3.5 cannot read one with more than one address; releases before 3.5
 * can read one without any.
 */
export function encodeInitialMessage({ serverId, addresses }: InitialMessage): Uint8Array {
  const writer = new Writer()
  if (addresses.length > 0) {
    writer.long(addresses.length === 1 ? oneAddress : severalAddresses)
  }
  writer.long(serverId)
  if (addresses.length > 0) writer.buffer(encodeText(addresses.join('|')))
  return writer.written()
}

/** A vote, as a server announces it. */
export interface Notification {
  readonly state: ServerState
  /** The server that it votes for, or follows. */
  readonly leader: bigint
  /** The last zxid in the log of that server, as far as the voter knows. */
  readonly zxid: bigint
  /** Counts the elections of the sender; Apache calls it "election epoch". */
  readonly round: bigint
  /** The current epoch of the server that it votes for. */
  readonly peerEpoch: bigint
  /** Message version: 2 since 3.5; 0 for all that were sent before 3.4.6. */
  readonly version: number
  /** The sender's committed configuration, as text; undefined before version 2. */
  readonly config: string | undefined
  /**
   * A proposed configuration that is not known to be committed, for a server that has a vote only
   * in that one. It follows everything that Apache reads, and Apache does not send it.
   */
  readonly proposed?: string | undefined
}

/** The version that this server writes. */
export const notificationVersion = 2

/** The maximum size of a message on the election port. */
export const electionMessageBytesMax = 524_288

const withoutEpochBytes = 28
const withoutVersionBytes = 40

/** Reads a notification of any release; undefined if it is to be ignored. */
export function readNotification(payload: Uint8Array): Notification | undefined {
  try {
    return readParts(payload)
  } catch (error) {
    if (error instanceof MalformedError) return undefined
    throw error
  }
}

function readParts(payload: Uint8Array): Notification | undefined {
  const reader = new Reader(payload)
  const state = states[reader.int()]
  if (state === undefined) return undefined
  const vote = { state, leader: reader.long(), zxid: reader.long(), round: reader.long() }
  if (payload.length === withoutEpochBytes) {
    return { ...vote, peerEpoch: vote.zxid >> 32n, version: 0, config: undefined }
  }
  const peerEpoch = reader.long()
  // Apache takes a message of this length for one without a version, even though four bytes follow.
  const version = payload.length === withoutVersionBytes ? 0 : reader.int()
  if (version <= 1) return { ...vote, peerEpoch, version, config: undefined }
  const config = reader.nullableText()
  if (config === null) return undefined
  const told = { ...vote, peerEpoch, version, config }
  // Newer versions may append fields; ignore them.
  const hasMore = version === notificationVersion && reader.remaining > 0
  const proposed = hasMore ? reader.nullableText() : null
  return proposed === null ? told : { ...told, proposed }
}

/** A notification as the payload of a message, in the format of 3.5 and later. */
export function encodeNotification(notification: Omit<Notification, 'version'>): Uint8Array {
  const { state, leader, zxid, round, peerEpoch, config = '', proposed } = notification
  const writer = new Writer()
  writer.int(states.indexOf(state))
  writer.long(leader)
  writer.long(zxid)
  writer.long(round)
  writer.long(peerEpoch)
  writer.int(notificationVersion)
  writer.ustring(config)
  if (proposed !== undefined) writer.ustring(proposed)
  return writer.written()
}
