/** All operations: those of `table.ts`, and the lists of them (multi and multiRead). */
import type { TypeOf } from './codec.ts'
import * as client from './records/client.ts'
import { MultiRequest, MultiResponse } from './lists.ts'
import { singleReads, singleWrites, type Operation, type Write } from './table.ts'
import { MultiTxn } from './transactions.ts'

export type { Operation } from './table.ts'

/** Operations that become a transaction, which is logged and replicated. */
export const writes = {
  ...singleWrites,
  multi: { code: 14, request: MultiRequest, txn: MultiTxn, response: MultiResponse },
} as const satisfies Record<string, Write>

/** Operations a server answers from its own state. */
export const reads = {
  ...singleReads,
  multiRead: { code: 22, request: MultiRequest, response: MultiResponse },
} as const satisfies Record<string, Operation>

/** Operations that concern the connection and are answered as soon as they are read. */
export const inline = {
  auth: { code: 100, request: client.AuthPacket, response: client.Empty },
  sasl: { code: 102, request: client.SaslToken, response: client.SaslToken },
} as const satisfies Record<string, Operation>

export const operations = { ...writes, ...reads, ...inline } as const

export type WriteName = keyof typeof writes
export type ReadName = keyof typeof reads
export type OperationName = keyof typeof operations
export type RequestOf<Name extends OperationName> = TypeOf<(typeof operations)[Name]['request']>
export type ResponseOf<Name extends OperationName> = TypeOf<(typeof operations)[Name]['response']>
export type TxnOf<Name extends WriteName> = TypeOf<(typeof writes)[Name]['txn']>

/** The numbers of the operations: `codes.setData` is 5. */
export const codes = Object.fromEntries(
  Object.entries(operations).map(([name, { code }]) => [name, code]),
) as { readonly [Name in OperationName]: (typeof operations)[Name]['code'] }

const namesByCode = new Map<number, OperationName>(
  Object.entries(operations).map(([name, { code }]) => [code, name as OperationName]),
)

export function operationName(code: number): OperationName | undefined {
  return namesByCode.get(code)
}
