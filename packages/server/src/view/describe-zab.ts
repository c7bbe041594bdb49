import type { MembershipChange, ZabEvent } from '@zabra/core'

/** What happened in the ensemble, as a line of the log. */
export function describeZab(event: ZabEvent): string {
  switch (event.type) {
    case 'looking':
      return 'looking for a leader'
    case 'readOnly':
      return `no leader was found in ${event.afterMs} ms: serving reads to those who can do with them`
    case 'readOnlyWhileFull':
      return 'until there is room on the disk: serving reads to those who can do with them'
    case 'elected':
      return `server ${event.leader} is elected`
    case 'appointed':
      return `server ${event.leader} is to lead, by the new configuration`
    case 'leading':
      return `leading epoch ${event.epoch}`
    case 'takingOver':
      return `taking over the history of server ${event.leader} (${event.plan})`
    case 'following':
      return `following server ${event.leader} in epoch ${event.epoch}`
    case 'handingOver':
      return `handing over: ${event.reason}`
    case 'roleEnded':
      return `no longer: ${event.reason}`
    case 'synchronising':
      return `bringing server ${event.sid} up to date (${event.plan})`
    case 'learnerDropped':
      return `dropped server ${event.sid}: ${event.reason}`
    case 'learnerRefused':
      return `a server was turned away: ${event.reason}`
    case 'epochRefused':
      return (
        `${event.address} came in the name of server ${event.sid}, and claims to have promised epoch ` +
        `${event.promised}, far beyond our own, ${event.own}: it was turned away. This is an attack, or ` +
        'the file acceptedEpoch of that server is damaged'
      )
    case 'changeProposed':
      return `configuration ${event.version.toString(16)} is proposed: ${describeChange(event)}`
    case 'reconfigured':
      return `configuration ${event.version.toString(16)}: ${describeChange(event)}`
    case 'configNotSaved':
      return `the configuration could not be saved: ${event.reason}`
  }
}

function describeChange({ joined, left, changed }: MembershipChange): string {
  const parts = [
    ['joined', joined],
    ['left', left],
    ['changed', changed],
  ] as const
  const said = parts.filter(([, ids]) => ids.length > 0)
  const all = said.map(([what, ids]) => `${what}: ${ids.map((id) => `server ${id}`).join(', ')}`)
  return all.join('; ') || 'the same servers'
}
