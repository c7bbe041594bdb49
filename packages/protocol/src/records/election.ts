/** What servers of one ensemble say to each other on the election port. */
import { decodeText, encodeText, MalformedError, Reader, Writer } from '../jute.ts'

/** What a server is doing: looking for a leader, or what came of it. */
export type ServerState = 'looking' | 'following' | 'leading' | 'observing'

/** In the order of their numbers on the wire. */
const states: readonly ServerState[] = ['looking', 'following', 'leading', 'observing']

/** Where others have the id of a server, an observer without a name of its own has this. */
export const anonymousServerId = 0x7fff_ffff_ffff_ffffn

/** What stands in a vote for "nobody" and "nothing": the votes of those who do not count. */
export const noVote = -0x8000_0000_0000_0000n

/** The first message on a connection, from the server that dialled. */
export interface InitialMessage {
  readonly serverId: bigint
  /** Where the dialler can be dialled, as `host:port`; none from releases before 3.5. */
  readonly addresses: readonly string[]
}

const oneAddress = -65_536n
const severalAddresses = -65_535n
const addressBytesMax = 2048
const initialBytesMin = 20

/** The longest initial message there can be. */
export const initialMessageBytesMax = initialBytesMin + addressBytesMax

/**
 * Reads an initial message and says how many bytes it took; undefined while it is incomplete.
 * Throws a MalformedError when it cannot become one.
 */
export function readInitialMessage(
  bytes: Uint8Array,
): { readonly message: InitialMessage; readonly length: number } | undefined {
  if (bytes.length < 8) return undefined
  const reader = new Reader(bytes)
  const version = reader.long()
  // Releases before 3.5 sent their id and nothing else, and an id is never negative.
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
 * An initial message as bytes. Only with more than one address is it one that 3.5 cannot read;
 * without any it is one that releases before 3.5 can.
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

/** A server's vote, as it tells it to another. */
export interface Notification {
  readonly state: ServerState
  /** Whom it votes for, or follows. */
  readonly leader: bigint
  /** The last zxid logged by the one it votes for, as far as the voter knows. */
  readonly zxid: bigint
  /** Counts the sender's elections; the "election epoch" of Apache. */
  readonly round: bigint
  /** The current epoch of the one it votes for. */
  readonly peerEpoch: bigint
  /** Of this message: 2 since 3.5; 0 for all that were sent before 3.4.6. */
  readonly version: number
  /** The sender's committed configuration, as text; undefined before version 2. */
  readonly config: string | undefined
  /**
   * A configuration that is proposed and not known to be committed, for a server that has a vote in
   * that one alone. It stands behind all that Apache reads, and Apache sends none.
   */
  readonly proposed?: string | undefined
}

/** What this server writes. */
export const notificationVersion = 2

/** The longest message on the election port. */
export const electionMessageBytesMax = 524_288

const withoutEpochBytes = 28
const withoutVersionBytes = 40

/** Reads a notification of any release; undefined for one that is to be ignored. */
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
  // Apache takes this length for a message without a version, even though four bytes follow.
  const version = payload.length === withoutVersionBytes ? 0 : reader.int()
  if (version <= 1) return { ...vote, peerEpoch, version, config: undefined }
  const config = reader.nullableText()
  if (config === null) return undefined
  const told = { ...vote, peerEpoch, version, config }
  // What newer versions have behind is theirs.
  const hasMore = version === notificationVersion && reader.remaining > 0
  const proposed = hasMore ? reader.nullableText() : null
  return proposed === null ? told : { ...told, proposed }
}

/** A notification as the payload of a message, in the form of 3.5 and later. */
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
