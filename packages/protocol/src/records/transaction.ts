/**
 * Logged and replicated transactions. They contain results, never intentions, so that replaying one
 * twice is harmless.
 */
import { bool, buffer, int, long, ustring, vector, type Codec, type TypeOf } from '../codec.ts'
import { record } from '../record.ts'
import { NullableAclList } from './common.ts'

export const TxnHeader = record({ clientId: long, cxid: int, zxid: long, time: long, type: int })
export interface TxnHeader extends TypeOf<typeof TxnHeader> {}
export const txnHeaderBytes = 32

/**
 * The digest of the whole tree after this transaction; absent in old records and in error records.
 */
export const TxnDigest = record({ version: int, treeDigest: long })
export interface TxnDigest extends TypeOf<typeof TxnDigest> {}
export const txnDigestBytes = 12
export const digestVersion = 2

const createTxn = record({
  path: ustring,
  data: buffer,
  acl: NullableAclList,
  ephemeral: bool,
  parentCVersion: int,
})
export interface CreateTxn extends TypeOf<typeof createTxn> {}

/** Before 3.4 the parent's counter was not recorded; it is then -1, which means "one more". */
export const CreateTxn: Codec<CreateTxn> = {
  bytesMin: createTxn.bytesMin - 4,
  read(reader) {
    const path = reader.ustring()
    const data = reader.buffer()
    const acl = NullableAclList.read(reader)
    const ephemeral = reader.bool()
    const parentCVersion = reader.remaining > 0 ? reader.int() : -1
    return { path, data, acl, ephemeral, parentCVersion }
  },
  write: createTxn.write,
}

export const CreateContainerTxn = record({
  path: ustring,
  data: buffer,
  acl: NullableAclList,
  parentCVersion: int,
})
export interface CreateContainerTxn extends TypeOf<typeof CreateContainerTxn> {}

export const CreateTtlTxn = record({
  path: ustring,
  data: buffer,
  acl: NullableAclList,
  parentCVersion: int,
  ttl: long,
})
export interface CreateTtlTxn extends TypeOf<typeof CreateTtlTxn> {}

export const DeleteTxn = record({ path: ustring })
export interface DeleteTxn extends TypeOf<typeof DeleteTxn> {}

/** `version` is the new version, not the expected one. */
export const SetDataTxn = record({ path: ustring, data: buffer, version: int })
export interface SetDataTxn extends TypeOf<typeof SetDataTxn> {}

export const SetAclTxn = record({ path: ustring, acl: NullableAclList, version: int })
export interface SetAclTxn extends TypeOf<typeof SetAclTxn> {}

export const CheckVersionTxn = record({ path: ustring, version: int })
export interface CheckVersionTxn extends TypeOf<typeof CheckVersionTxn> {}

export const CreateSessionTxn = record({ timeOut: int })
export interface CreateSessionTxn extends TypeOf<typeof CreateSessionTxn> {}

export interface CloseSessionTxn {
  /** Undefined: everything that the session owns. */
  paths2Delete: string[] | undefined
}
const pathList = vector(ustring)
export const CloseSessionTxn: Codec<CloseSessionTxn> = {
  bytesMin: 0,
  read: (reader) => ({ paths2Delete: pathList.read(reader) }),
  write(writer, { paths2Delete }) {
    if (paths2Delete !== undefined) pathList.write(writer, paths2Delete)
  },
}

export const ErrorTxn = record({ err: int })
export interface ErrorTxn extends TypeOf<typeof ErrorTxn> {}
