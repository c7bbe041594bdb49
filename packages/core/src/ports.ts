/** What the core asks of its host. `server` answers on Node, `simulator` in a virtual world. */
import type { Id, Txn } from '@zabra/protocol'

/**
 * Files. Paths are relative or absolute as the host likes, joined with `/`.
 *
 * A fault is thrown as an Error with a `code` as Node has it: 'ENOENT', 'ENOSPC', 'EIO'...
 */
export interface Disk {
  /** The files of a directory, in no particular order; ENOENT when there is no such directory. */
  list(directory: string): Promise<FileEntry[]>
  openRead(path: string): Promise<ReadHandle>
  /** Makes a new, empty file for writing; one that has the name already is emptied. */
  create(path: string, options?: CreateOptions): Promise<WriteHandle>
  /** Opens a file that is there for writing and leaves its bytes as they are. */
  openWrite(path: string): Promise<WriteHandle>
  /** Replaces what had the new name. Survives a crash only after `syncDirectory`. */
  rename(from: string, to: string): Promise<void>
  /** Quiet when the file is gone already. */
  remove(path: string): Promise<void>
  /** Makes creations, renames and removals in this directory durable. */
  syncDirectory(directory: string): Promise<void>
  /** With its parents; quiet when it is there already. */
  makeDirectory(directory: string): Promise<void>
}

export interface FileEntry {
  readonly name: string
  readonly bytes: number
}

export interface CreateOptions {
  /** Every write is durable when its promise resolves, as if followed by `sync`. */
  readonly durableWrites?: boolean
  /** Whoever may read that file may read this one, and nobody else. */
  readonly permissionsOf?: string
}

export interface ReadHandle {
  /** As it was when the file was opened. */
  readonly bytes: number
  /** Fills `into` from `position` on and says how much there was: less than asked at the end only. */
  read(position: number, into: Uint8Array): Promise<number>
  close(): Promise<void>
}

export interface WriteHandle {
  /** Writes all the bytes or throws; a part of them may be there after a fault. */
  write(bytes: Uint8Array, position: number): Promise<void>
  /** As `write`, and nothing else happens until it is done; not every disk can. */
  writeNow?(bytes: Uint8Array, position: number): void
  /** Makes the bytes durable (fdatasync). After a fault nothing may be assumed about them. */
  sync(): Promise<void>
  /** Cuts the file, or lengthens it by zeros that need no room. */
  setSize(bytes: number): Promise<void>
  close(): Promise<void>
}

/** The code of a fault, if it is one. */
export function faultCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Proves who a client is, by what it presents. */
export interface Authenticator {
  /** The schemes that have a provider here. */
  readonly schemes: ReadonlySet<string>
  /** Whether this names an account whose password is worth guessing: attempts are slowed down. */
  isGuarded?(scheme: string, token: Uint8Array | null): boolean
  /** The identities proven, or undefined when they are not. */
  authenticate(scheme: string, token: Uint8Array | null, address: string): Id[] | undefined
  /** Begins a SASL exchange; absent where SASL is not configured. */
  readonly startSasl?: (() => SaslExchange) | undefined
  /** Whether a client stays, without an identity, when its SASL exchange has failed. */
  readonly keepsSaslFailed?: boolean
}

/** Keeps the audit log: what clients have changed, and what they were refused. */
export interface Auditor {
  /** A client's write was answered, or refused before it was one. */
  answered(write: AuditedWrite): void
  /** These ephemerals are deleted, because their session has ended. */
  ephemeralsDeleted(sessionId: bigint, paths: readonly string[], zxid: bigint): void
}

export interface AuditedWrite {
  readonly sessionId: bigint
  readonly address: string
  /** The identities of the client at the time of the request. */
  readonly identities: readonly Id[]
  /** The opcode. */
  readonly type: number
  /** The body of the request, as received. */
  readonly request: Uint8Array
  /** 0 is success. */
  readonly error: number
  /** The resulting transaction; undefined if the request was refused before there was one. */
  readonly txn: Txn | undefined
  /** 0 where there is no transaction. */
  readonly zxid: bigint
}

/** The server's side of one SASL exchange. */
export interface SaslExchange {
  /** Answers what the client has sent; undefined refuses it. */
  answer(token: Uint8Array): SaslAnswer | undefined
}

export interface SaslAnswer {
  readonly token: Uint8Array | null
  /** The identities of the client; present once the exchange has succeeded. */
  readonly identities?: readonly Id[]
}

/**
 * Writes zeros to memory that is all zeros, elsewhere than here, and calls back. Whoever writes to
 * a page of memory first waits until the system has one for it: that is a twentieth of what a
 * create costs, if nobody has been there before.
 */
export type TouchMemory = (memory: Uint8Array, done: () => void) => void

/** Time and chance. */
export interface Host {
  /** Milliseconds of a clock that never goes back, with fractions. */
  monotonicMs(): number
  /** Milliseconds since 1970. */
  wallMs(): number
  /** At least 0, less than 1. */
  random(): number
  /** `done` resolves after so long, or as soon as `cut` is called. */
  delay(ms: number): { readonly done: Promise<void>; readonly cut: () => void }
}
