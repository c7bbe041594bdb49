import {
  codes,
  encodeText,
  errorCodes,
  permissions,
  ReconfigRequest,
  type TypeOf,
} from '@zabra/protocol'
import { assert } from '../base/assert.ts'
import { configPath } from '../state/database.ts'
import { field } from '../state/tree/layout.ts'
import {
  formatMembership,
  parseMembership,
  sameMembership,
  type Membership,
} from '../membership/membership.ts'
import type { ServerId } from '../membership/quorum.ts'
import { parseServerSpec, type HostPort, type ServerSpec } from '../membership/server-spec.ts'
import type { WriteOperation } from './operation.ts'
import { mayDo, type OperationRules } from './preparation.ts'
import { applySetData } from './set-data.ts'

/** The leader's view of the members, and the changes it can make. */
export interface Reconfiguring {
  current(): Membership
  /** Whether a change is proposed and not committed yet. */
  isPending(): boolean
  /** Whether a quorum of these servers is connected and up to date. */
  isSynced(config: Membership): boolean
  /** Announces that the next transaction sets this configuration. */
  propose(config: Membership): void
}

type Request = TypeOf<typeof ReconfigRequest>

/** The members that a request results in, or the error that refuses it. */
type Wanted = Pick<Membership, 'servers' | 'hierarchy'> | number

const { badArguments, marshallingError } = errorCodes

export const reconfig: WriteOperation<'reconfig', Request> = {
  decode: (body) => ReconfigRequest.read(body),

  prepare(request, p) {
    const { rules, reconfiguring, zxid } = p
    if (!rules.reconfigEnabled) return errorCodes.reconfigDisabled
    if (reconfiguring === undefined) return errorCodes.unimplemented
    if (reconfiguring.isPending()) return errorCodes.reconfigInProgress
    const current = reconfiguring.current()
    const config = membersAfter(current, request, rules, zxid)
    if (typeof config === 'number') return config
    if (!reconfiguring.isSynced(config)) return errorCodes.newConfigNoQuorum
    const node = p.projection.load(configPath)
    assert(node !== undefined, 'the configuration node exists')
    if (!mayDo(p, node.acl, permissions.write)) return errorCodes.noAuth
    const data = encodeText(formatMembership(config))
    node.view.setInt32(field.version, -1)
    node.view.setBigInt64(field.mzxid, zxid)
    node.view.setBigInt64(field.mtime, p.time)
    p.projection.setData(node, data)
    p.projection.stage(node)
    reconfiguring.propose(config)
    return { type: codes.reconfig, body: { path: configPath, data, version: -1 } }
  },

  apply(db, header, txn) {
    db.configBefore = db.configText?.slice() ?? undefined
    return applySetData(db, header, txn)
  },

  result(tree, { body }, out) {
    out.buffer(body.data)
    tree.writeStat(tree.find(body.path), out)
  },
}

/** The members that result from the current ones and a request, or the error that refuses it. */
export function membersAfter(
  current: Membership,
  request: Request,
  rules: Pick<OperationRules, 'standaloneEnabled' | 'multiAddressEnabled'>,
  version: bigint,
): Membership | number {
  const { curConfigId, newMembers } = request
  if (curConfigId !== -1n && curConfigId !== current.version) return errorCodes.badVersion
  const votersMin = rules.standaloneEnabled === false ? 1 : 2
  const wanted = newMembers === null ? changed(current, request) : parsed(newMembers, votersMin)
  if (typeof wanted === 'number') return wanted
  const config: Membership = { ...wanted, version }
  if (voterCount(config) < votersMin || !canBeRead(config)) return badArguments
  return canStart(config, current, rules) ? config : badArguments
}

/** Whether other servers, and this one after a restart, can read the configuration. */
function canBeRead(config: Membership): boolean {
  const read = parseMembership(formatMembership(config))
  return 'value' in read && sameMembership(read.value, config)
}

/** Configuration files do not accept numbers with more digits. */
const numberMax = 999_999_999_999_999n

/** Whether a restart accepts what it will find in its configuration file. */
function canStart(
  { servers, hierarchy }: Membership,
  before: Membership,
  { multiAddressEnabled = false }: Pick<OperationRules, 'multiAddressEnabled'>,
): boolean {
  const { groups, weights } = hierarchy ?? { groups: new Map(), weights: new Map() }
  const numbers = [servers, groups, weights].flatMap((map) => [...map.keys()])
  if ([...numbers, ...weights.values()].some((number) => number > numberMax)) return false
  return [...servers].every(([id, spec]) => {
    if (spec.addresses.length > 1 && !multiAddressEnabled) return false
    // Only its own file says whether a member can serve TLS; Apache 3.9 accepts no secure port
    // here.
    const own = before.servers.get(id)
    return spec.secureClient === undefined || isSame(spec.secureClient, own?.secureClient)
  })
}

function isSame(one: HostPort, other: HostPort | undefined): boolean {
  return one.host === other?.host && one.port === other?.port
}

/** Reads a complete list of members, separated by lines or commas. */
function parsed(newMembers: string, votersMin: number): Wanted {
  const result = parseMembership(newMembers.replaceAll(',', '\n'))
  if ('problem' in result) return refused(result)
  const voters = voterCount(result.value)
  // Apache has no error code for this refusal and answers as for a text that it cannot read.
  if (voters < votersMin && result.value.servers.size > voters) return marshallingError
  return result.value
}

function voterCount({ servers }: Pick<Membership, 'servers'>): number {
  return [...servers.values()].filter(({ role }) => role === 'participant').length
}

function changed(current: Membership, { leavingServers, joiningServers }: Request): Wanted {
  // An incremental change cannot say which group a joining server belongs to.
  if (current.hierarchy !== undefined) return badArguments
  const servers = new Map(current.servers)
  for (const text of listed(leavingServers)) {
    if (!isNumber(text)) return marshallingError
    servers.delete(BigInt(text))
  }
  for (const text of listed(joiningServers)) {
    const [name, line, ...rest] = text.split('=').map((part) => part.trim())
    if (name === undefined || line === undefined || rest.length > 0) return badArguments
    const id = name.slice(name.lastIndexOf('.') + 1)
    if (!isNumber(id)) return marshallingError
    if (BigInt(id) < 0n) return badArguments
    const spec = parseServerSpec(line)
    if ('problem' in spec) return refused(spec)
    if (spec.value.client === undefined) return badArguments
    if (hasConflict(servers, BigInt(id), spec.value)) return badArguments
    servers.set(BigInt(id), spec.value)
  }
  return { servers, hierarchy: undefined }
}

/** Apache has no error code for an impossible port either. */
function refused({ isPortOutOfRange = false }: { isPortOutOfRange?: boolean }): number {
  return isPortOutOfRange ? marshallingError : badArguments
}

function listed(text: string | null): string[] {
  const parts = (text ?? '').split(',').map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

function isNumber(text: string): boolean {
  return /^[+-]?\d{1,18}$/.test(text)
}

/** Whether two servers would have the same address. */
function hasConflict(
  servers: ReadonlyMap<ServerId, ServerSpec>,
  id: ServerId,
  spec: ServerSpec,
): boolean {
  const own = new Set(addressesOf(spec))
  for (const [other, theirs] of servers) {
    if (other !== id && addressesOf(theirs).some((address) => own.has(address))) return true
  }
  return false
}

/** The addresses that identify one machine. Loopback addresses do not: every host has its own. */
function addressesOf({ addresses, client }: ServerSpec): string[] {
  const all: HostPort[] = addresses.flatMap(({ host, quorumPort, electionPort }) => [
    { host, port: quorumPort },
    { host, port: electionPort },
  ])
  if (client !== undefined) all.push(client)
  return all
    .filter(({ host }) => host !== undefined && !/^(0\.0\.0\.0|::1?|127\..*|localhost)$/.test(host))
    .map(({ host, port }) => `${host}:${port}`)
}
