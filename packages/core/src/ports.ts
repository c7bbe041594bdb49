/**
 * The interfaces through which the core uses its host. `server` implements them on Node,
 * `simulator` in a virtual world.
 */
import type { Id, Txn } from '@zabra/protocol'

/**
 * Files. A path may be relative or absolute; its parts are joined with `/`.
 *
 * A method that fails throws an Error with a `code` as Node defines it: 'ENOENT', 'ENOSPC',
 * 'EIO'...
 */
export interface Disk {
  /** The files of a directory, in no particular order; ENOENT when there is no such directory. */
  list(directory: string): Promise<FileEntry[]>
  openRead(path: string): Promise<ReadHandle>
  /** Creates an empty file for writing; truncates an existing file of that name. */
  create(path: string, options?: CreateOptions): Promise<WriteHandle>
  /** Opens an existing file for writing and keeps its bytes. */
  openWrite(path: string): Promise<WriteHandle>
  /** Replaces a file that has the new name. Survives a crash only after `syncDirectory`. */
  rename(from: string, to: string): Promise<void>
  /** Does nothing if the file does not exist. */
  remove(path: string): Promise<void>
  /** Makes creations, renames and removals in this directory durable. */
  syncDirectory(directory: string): Promise<void>
  /** Creates the directory and its parents; does nothing if it exists. */
  makeDirectory(directory: string): Promise<void>
}

export interface FileEntry {
  readonly name: string
  readonly bytes: number
}

export interface CreateOptions {
  /** Every write is durable when its promise resolves, as if `sync` had followed it. */
  readonly durableWrites?: boolean
  /** A path: the new file gets the access permissions of that file. */
  readonly permissionsOf?: string
}

export interface ReadHandle {
  /** The size of the file when it was opened. */
  readonly bytes: number
  /**
   * Fills `into` from `position` on and returns the number of bytes read, which is smaller than
   * asked for only at the end of the file.
   */
  read(position: number, into: Uint8Array): Promise<number>
  close(): Promise<void>
}

export interface WriteHandle {
  /** Writes all the bytes or throws; after a fault the file may hold a part of them. */
  write(bytes: Uint8Array, position: number): Promise<void>
  /** Does the same as `write` and blocks until it is done. Not every disk has this method. */
  writeNow?(bytes: Uint8Array, position: number): void
  /**
   * Makes the bytes durable (fdatasync). After a fault the caller must assume nothing about them.
   */
  sync(): Promise<void>
  /** Truncates the file, or extends it with zeros that take no disk space. */
  setSize(bytes: number): Promise<void>
  close(): Promise<void>
}

/** The `code` of a fault; undefined for any other error. */
export function faultCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  if (typeof error.code !== 'string') return undefined
  // A quota of the file system that is used up is a full disk.
  return error.code === 'EDQUOT' ? 'ENOSPC' : error.code
}

/** Verifies the credentials that a client presents. */
export interface Authenticator {
  /** The schemes that this server has a provider for. */
  readonly schemes: ReadonlySet<string>
  /** Whether guessing passwords for this scheme and token must be slowed down. */
  isGuarded?(scheme: string, token: Uint8Array | null): boolean
  /** The identities that the token proves, or undefined if it proves none. */
  authenticate(scheme: string, token: Uint8Array | null, address: string): Id[] | undefined
  /** Begins a SASL exchange; undefined if SASL is not configured. */
  readonly startSasl?: (() => SaslExchange) | undefined
  /** Whether a client whose SASL exchange fails stays connected, without an identity. */
  readonly keepsSaslFailed?: boolean
}

/** Keeps the audit log of changes by clients and of refused requests. */
export interface Auditor {
  /** The server answered a write, or refused it before it became a transaction. */
  answered(write: AuditedWrite): void
  /** These ephemeral nodes were deleted because their session ended. */
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
  /** The resulting transaction; undefined if the request was refused before one was made. */
  readonly txn: Txn | undefined
  /** 0 if there is no transaction. */
  readonly zxid: bigint
}

/** The server's side of one SASL exchange. */
export interface SaslExchange {
  /** Returns the answer to a token of the client, or undefined to refuse the client. */
  answer(token: Uint8Array): SaslAnswer | undefined
}

export interface SaslAnswer {
  readonly token: Uint8Array | null
  /** The identities of the client; present once the exchange has succeeded. */
  readonly identities?: readonly Id[]
}

/**
 * Writes zeros to memory that holds only zeros, on another thread, and then calls back. The first
 * write to a page of memory waits until the operating system has provided the page. Without this,
 * that wait would be a twentieth of the cost of a create.
 */
export type TouchMemory = (memory: Uint8Array, done: () => void) => void

/** Clocks and randomness. */
export interface Host {
  /** Milliseconds of a clock that never goes backwards, with fractions. */
  monotonicMs(): number
  /** Milliseconds since 1970. */
  wallMs(): number
  /** At least 0, less than 1. */
  random(): number
  /** `done` resolves after `ms` milliseconds, or as soon as `cut` is called. */
  delay(ms: number): { readonly done: Promise<void>; readonly cut: () => void }
}
