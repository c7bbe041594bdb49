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

/** What a leader knows about the members, and lets be done about them. */
export interface Reconfiguring {
  current(): Membership
  /** A change is proposed and not committed yet. */
  isPending(): boolean
  /** Whether a quorum of these servers is connected and up to date. */
  isSynced(config: Membership): boolean
  /** The next transaction makes this the configuration. */
  propose(config: Membership): void
}

type Request = TypeOf<typeof ReconfigRequest>

/** The members that a request asks for, or the error that refuses it. */
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
    assert(node !== undefined, 'the configuration has its node')
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

/** The members that a request makes of the present ones, or the error that refuses it. */
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

/** What other servers and a restart could not read must not come to be. */
function canBeRead(config: Membership): boolean {
  const read = parseMembership(formatMembership(config))
  return 'value' in read && sameMembership(read.value, config)
}

/** More digits are no number to a configuration file. */
const numberMax = 999_999_999_999_999n

/** Whether a restart takes what it will find in its configuration file. */
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
    // Whether a member can serve TLS only its own file tells; Apache 3.9 knows no such port here.
    const own = before.servers.get(id)
    return spec.secureClient === undefined || isSame(spec.secureClient, own?.secureClient)
  })
}

function isSame(one: HostPort, other: HostPort | undefined): boolean {
  return one.host === other?.host && one.port === other?.port
}

/** All members anew, on lines or between commas. */
function parsed(newMembers: string, votersMin: number): Wanted {
  const result = parseMembership(newMembers.replaceAll(',', '\n'))
  if ('problem' in result) return refused(result)
  const voters = voterCount(result.value)
  // Apache does not foresee this refusal, and answers as to what it cannot read.
  if (voters < votersMin && result.value.servers.size > voters) return marshallingError
  return result.value
}

function voterCount({ servers }: Pick<Membership, 'servers'>): number {
  return [...servers.values()].filter(({ role }) => role === 'participant').length
}

function changed(current: Membership, { leavingServers, joiningServers }: Request): Wanted {
  // Nobody says to which group a joining server would belong.
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

/** As Apache, which does not foresee a port that cannot be. */
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

/** Whether a server would have an address that is another one's. */
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

/** Those that mean one place only: every host has its own loopback. */
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
