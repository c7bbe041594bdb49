/** Changes of the past, as the API tells them, and lists of them. */
import type { ChangeJson } from '@zabra/protocol/http-api'
import { compareZxids } from './points.ts'

export const changeKinds = [
  'create',
  'set',
  'delete',
  'acl',
  'reconfig',
  'openSession',
  'closeSession',
] as const satisfies readonly ChangeJson['kind'][]
export type ChangeKind = (typeof changeKinds)[number]

export type PastChange = ChangeJson

export interface ChangePage {
  readonly changes: readonly PastChange[]
  readonly next: string | null
  readonly upTo: string
}

const verbs: Readonly<Record<ChangeKind, string>> = {
  create: 'created',
  set: 'set',
  delete: 'deleted',
  acl: 'ACL set',
  reconfig: 'members',
  openSession: 'opened',
  closeSession: 'ended',
}

/** One word for what happened. */
export function verbOf({ kind, cause }: Pick<PastChange, 'kind' | 'cause'>): string {
  return kind === 'closeSession' && cause === 'expired' ? 'expired' : verbs[kind]
}

export const kindText: Readonly<Record<ChangeKind, string>> = {
  create: 'Created',
  set: 'Data set',
  delete: 'Deleted',
  acl: 'ACL set',
  reconfig: 'Members changed',
  openSession: 'Session opened',
  closeSession: 'Session ended',
}

/** The client behind a change, as far as it is known. */
export function clientText(client: PastChange['client']): string | undefined {
  if (client === null) return undefined
  const users = client.identities
    .filter((each) => !each.startsWith('ip:'))
    .map((each) => each.replace(/^digest:/, ''))
  const place = client.isOfApi ? `${client.address} by the API` : client.address
  return users.length === 0 ? place : `${users.join(', ')} at ${place}`
}

export const keyOf = ({ zxid, part }: PastChange): string => `${zxid}.${part}`

/** Both together, each once, the newest first. */
export function merged(
  some: readonly PastChange[],
  others: readonly PastChange[],
): readonly PastChange[] {
  const all = new Map([...some, ...others].map((change) => [keyOf(change), change]))
  return [...all.values()].toSorted((a, b) => compareZxids(b.zxid, a.zxid) || b.part - a.part)
}

/** Leaves out the oldest transactions, and says where to go on. */
export function trimmed(
  changes: readonly PastChange[],
  max: number,
): { readonly changes: readonly PastChange[]; readonly next: string | undefined } {
  const last = changes[max]
  if (last === undefined) return { changes, next: undefined }
  let end = max
  // A transaction stays whole, or goes.
  while (end > 0 && changes[end - 1]!.zxid === last.zxid) end--
  return { changes: changes.slice(0, end), next: last.zxid }
}

/** Keeps the last change of each transaction, because it determines the result. */
export function onePerTransaction(changes: readonly PastChange[]): readonly PastChange[] {
  const last = new Map<string, PastChange>()
  for (const change of changes) {
    const known = last.get(change.zxid)
    if (known === undefined || change.part > known.part) last.set(change.zxid, change)
  }
  return [...last.values()]
}

/** The two that are compared: those in the address, or the newest and the one before. */
export function chosenOf(
  list: readonly PastChange[],
  wantedNew: string | null,
  wantedOld: string | null,
): { readonly newer: number; readonly older: number } {
  const newer = Math.max(
    0,
    list.findIndex(({ zxid }) => zxid === wantedNew),
  )
  const older = list.findIndex(({ zxid }) => zxid === wantedOld)
  return { newer, older: older > newer ? older : newer + 1 }
}
