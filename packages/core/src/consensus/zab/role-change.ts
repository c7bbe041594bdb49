import { codes, decodeText } from '@zabra/protocol'
import type { DecodedTxn } from './decoded-txn.ts'
import { parseMembership, sameMembership, type Membership } from '../../membership/membership.ts'
import type { ServerId } from '../../membership/quorum.ts'
import type { ServerSpec } from '../../membership/server-spec.ts'

/** A change of configuration ends a role. If it names the next leader, there is no election. */
export class RoleChange extends Error {
  override readonly name = 'RoleChange'
  readonly leader: ServerId | undefined

  constructor(reason: string, leader: ServerId | undefined) {
    super(reason)
    this.leader = leader
  }
}

/** Whether a configuration ends the role of a follower or an observer, and why. */
export function changeForLearner(
  before: Membership,
  after: Membership,
  role: {
    self: ServerId
    leader: ServerId
    isObserver: boolean
    /** The next leader; undefined if none is named. */
    successor: ServerId | undefined
  },
): RoleChange | undefined {
  if (sameMembership(before, after)) return undefined
  const { self, leader, isObserver, successor } = role
  if (successor !== undefined && successor !== leader) {
    return new RoleChange(`the new configuration is led by server ${successor}`, successor)
  }
  if ((after.servers.get(self)?.role === 'observer') !== isObserver) {
    const what = isObserver ? 'an observer' : 'a follower'
    return new RoleChange(`in the new configuration this server is not ${what}`, successor)
  }
  if (successor === undefined && !mayGoOnLeading(before, after, leader)) {
    return new RoleChange('the new configuration wants another leader', undefined)
  }
  return undefined
}

/** Whether a leader still has a vote, and the address that its followers have used. */
export function mayGoOnLeading(before: Membership, after: Membership, leader: ServerId): boolean {
  const now = after.servers.get(leader)
  if (now?.role !== 'participant') return false
  const old = before.servers.get(leader)
  return old === undefined || quorumAddresses(old) === quorumAddresses(now)
}

function quorumAddresses({ addresses }: ServerSpec): string {
  return addresses.map(({ host, quorumPort }) => `${host}:${quorumPort}`).join('|')
}

/** The configuration that a transaction proposes; undefined for other transactions and malformed ones. */
export function configOf({ txn }: Pick<DecodedTxn, 'txn'>): Membership | undefined {
  if (txn.type !== codes.reconfig || txn.body.data === null) return undefined
  return readConfig(txn.body.data)
}

export function readConfig(text: Uint8Array): Membership | undefined {
  const parsed = parseMembership(decodeText(text, 0, text.length))
  return 'problem' in parsed ? undefined : parsed.value
}
