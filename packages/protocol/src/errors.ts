/** The errors of the protocol, by name. Numbers once used on the wire stay reserved. */
export const errorCodes = {
  ok: 0,
  systemError: -1,
  runtimeInconsistency: -2,
  dataInconsistency: -3,
  connectionLoss: -4,
  marshallingError: -5,
  unimplemented: -6,
  operationTimeout: -7,
  badArguments: -8,
  invalidState: -9,
  unknownSession: -12,
  newConfigNoQuorum: -13,
  reconfigInProgress: -14,
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  noChildrenForEphemerals: -108,
  nodeExists: -110,
  notEmpty: -111,
  sessionExpired: -112,
  invalidAcl: -114,
  authFailed: -115,
  sessionMoved: -118,
  notReadOnly: -119,
  ephemeralOnLocalSession: -120,
  noWatcher: -121,
  reconfigDisabled: -123,
  sessionClosedRequireSaslAuth: -124,
  quotaExceeded: -125,
  throttledOp: -127,
} as const

export type ErrorName = keyof typeof errorCodes
export type ErrorCode = (typeof errorCodes)[ErrorName]

const names = new Map<number, ErrorName>(
  Object.entries(errorCodes).map(([name, code]) => [code, name as ErrorName]),
)

export function errorName(code: number): ErrorName | undefined {
  return names.get(code)
}
