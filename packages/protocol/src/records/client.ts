/** Messages between a client and a server. */
import {
  bool,
  buffer,
  int,
  long,
  nullableText,
  nullableVector,
  ustring,
  vector,
  type Codec,
  type TypeOf,
} from '../codec.ts'
import { record } from '../record.ts'
import { Acl, NullableAclList, Stat } from './common.ts'

export const RequestHeader = record({ xid: int, type: int })
export const ReplyHeader = record({ xid: int, zxid: long, err: int })
export const requestHeaderBytes = 8
export const replyHeaderBytes = 16

/**
 * Clients that do not know the flag (3.3 and older) leave it out, and get no such field in the
 * answer.
 */
const readOnlyFlag: Codec<boolean | undefined> = {
  bytesMin: 0,
  read: (reader) => (reader.remaining > 0 ? reader.bool() : undefined),
  write(writer, value) {
    if (value !== undefined) writer.bool(value)
  },
}

/** The first frame of a connection; it has no header. */
export const ConnectRequest = record({
  protocolVersion: int,
  lastZxidSeen: long,
  timeOut: int,
  sessionId: long,
  passwd: buffer,
  readOnly: readOnlyFlag,
})
export interface ConnectRequest extends TypeOf<typeof ConnectRequest> {}

export const ConnectResponse = record({
  protocolVersion: int,
  timeOut: int,
  sessionId: long,
  passwd: buffer,
  readOnly: readOnlyFlag,
})
export interface ConnectResponse extends TypeOf<typeof ConnectResponse> {}

export const Empty = record({})

/** A path may be null in operations that refuse null later, or with another error than usual. */
export const CreateRequest = record({
  path: nullableText,
  data: buffer,
  acl: NullableAclList,
  flags: int,
})
export interface CreateRequest extends TypeOf<typeof CreateRequest> {}
export const CreateTtlRequest = record({
  path: nullableText,
  data: buffer,
  acl: NullableAclList,
  flags: int,
  ttl: long,
})
export interface CreateTtlRequest extends TypeOf<typeof CreateTtlRequest> {}
export const CreateResponse = record({ path: ustring })
export const Create2Response = record({ path: ustring, stat: Stat })

export const DeleteRequest = record({ path: ustring, version: int })
export const CheckVersionRequest = record({ path: ustring, version: int })

export const WatchableRequest = record({ path: nullableText, watch: bool })
export const PathRequest = record({ path: ustring })
export const StatResponse = record({ stat: Stat })
export const GetDataResponse = record({ data: buffer, stat: Stat })

export const SetDataRequest = record({ path: nullableText, data: buffer, version: int })

export const GetAclResponse = record({ acl: vector(Acl), stat: Stat })
export const SetAclRequest = record({ path: nullableText, acl: NullableAclList, version: int })

export const GetChildrenResponse = record({ children: vector(ustring) })
export const GetChildren2Response = record({ children: vector(ustring), stat: Stat })
export const GetAllChildrenNumberResponse = record({ totalNumber: int })

/** The path of a sync is only echoed, so null is valid. */
export const SyncRequest = record({ path: nullableText })
export const SyncResponse = record({ path: nullableText })

export const ReconfigRequest = record({
  joiningServers: nullableText,
  leavingServers: nullableText,
  newMembers: nullableText,
  curConfigId: long,
})

export const WatchTypeRequest = record({ path: nullableText, type: int })
export const AddWatchRequest = record({ path: nullableText, mode: int })

export const SetWatches = record({
  relativeZxid: long,
  dataWatches: nullableVector(ustring),
  existWatches: nullableVector(ustring),
  childWatches: nullableVector(ustring),
})
export const SetWatches2 = record({
  relativeZxid: long,
  dataWatches: nullableVector(ustring),
  existWatches: nullableVector(ustring),
  childWatches: nullableVector(ustring),
  persistentWatches: nullableVector(ustring),
  persistentRecursiveWatches: nullableVector(ustring),
})
export interface SetWatches2 extends TypeOf<typeof SetWatches2> {}

export const AuthPacket = record({ type: int, scheme: nullableText, auth: buffer })
export const SaslToken = record({ token: buffer })

export const GetEphemeralsRequest = record({ prefixPath: nullableText })
export const GetEphemeralsResponse = record({ ephemerals: vector(ustring) })

const ClientInfo = record({ authScheme: nullableText, user: nullableText })
export const WhoAmIResponse = record({ clientInfo: vector(ClientInfo) })

export const WatcherEvent = record({ type: int, state: int, path: ustring })
export const ErrorResponse = record({ err: int })
