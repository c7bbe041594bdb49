/** Records in the files of a data directory, other than transactions. */
import { int, long, type TypeOf } from '../codec.ts'
import { record } from '../record.ts'

export const FileHeader = record({ magic: int, version: int, dbid: long })
export interface FileHeader extends TypeOf<typeof FileHeader> {}
export const fileHeaderBytes = 16

export const logMagic = 0x5a4b4c47 // ZKLG
export const snapshotMagic = 0x5a4b534e // ZKSN
export const fileVersion = 2

/** The stat of a znode as stored; `cversion` counts creates only (Stat has what clients see). */
export const StatPersisted = record({
  czxid: long,
  mzxid: long,
  ctime: long,
  mtime: long,
  version: int,
  cversion: int,
  aversion: int,
  ephemeralOwner: long,
  pzxid: long,
})
export interface StatPersisted extends TypeOf<typeof StatPersisted> {}

/** The last byte of every log record. */
export const endOfRecord = 0x42
