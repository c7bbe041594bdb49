import type { Contradiction, MembershipChange, Remedy, ZabEvent } from '@zabra/core'
import { error, info, warn, type LogEntry } from '../base/event-logger.ts'

/** An event of the ensemble as a line of the log. */
export function describeZab(event: ZabEvent): LogEntry {
  switch (event.type) {
    case 'looking':
      return info('election: looking for a leader')
    case 'elected':
      return info('election: elected leader', { leader: event.leader })
    case 'appointed':
      return info('election: new configuration named leader', { leader: event.leader })
    case 'readOnly':
      return info('zab: serving read-only clients, found no leader', { afterMs: event.afterMs })
    case 'readOnlyWhileFull':
      return info('zab: serving read-only clients, disk is full')
    case 'leading':
      return info('zab: leading', { epoch: event.epoch })
    case 'takingOver':
      return info('zab: synchronizing with leader', { leader: event.leader, plan: event.plan })
    case 'following':
      return info('zab: following', { leader: event.leader, epoch: event.epoch })
    case 'handingOver':
      return info('zab: handing over leadership', { reason: event.reason })
    case 'roleEnded':
      return info('zab: left role', { reason: event.reason })
    case 'synchronizing':
      return info('zab: synchronizing learner', { server: event.sid, plan: event.plan })
    case 'learnerDropped':
      return info('zab: dropped learner', { server: event.sid, reason: event.reason })
    case 'learnerRefused':
      return info('zab: refused learner', { reason: event.reason })
    case 'crowded':
      return warn('peer: closed connection, too many have not identified themselves', {
        port: event.port,
      })
    case 'epochRefused':
      return warn('zab: refused server that claims an impossible epoch', {
        server: event.sid,
        address: event.address,
        claimed: event.promised,
        own: event.own,
      })
    case 'changeProposed':
      return info('config: proposed change of members', changeFields(event))
    case 'reconfigured':
      return info('config: changed members', changeFields(event))
    case 'treeDoubted':
      return warn('tree: follower computed another digest', {
        server: event.sid,
        zxid: `0x${event.zxid.toString(16)}`,
      })
    case 'treeDiffers':
      return treeEntry(event.remedy, event.from)
    case 'configNotSaved':
      return warn('config: cannot save members', { error: event.reason })
  }
}

function treeEntry(remedy: Remedy, from: Contradiction): LogEntry {
  const fields = { against: from }
  switch (remedy) {
    case 'reload':
      return error('tree: differs, leaving clients and reading the disk again', fields)
    case 'takeEverything':
      return error('tree: still differs, taking everything from the leader', fields)
    case 'none':
      return error('tree: still differs, going on as nothing has helped', fields)
  }
}

function changeFields({
  version,
  joined,
  left,
  changed,
}: MembershipChange & { readonly version: bigint }): LogEntry['fields'] {
  const list = (ids: readonly bigint[]): readonly string[] | undefined =>
    ids.length === 0 ? undefined : ids.map(String)
  return {
    version: version.toString(16),
    joined: list(joined),
    left: list(left),
    changed: list(changed),
  }
}
