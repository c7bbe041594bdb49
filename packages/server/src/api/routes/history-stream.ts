import { type Change, hex, passes } from '@zabra/core'
import type { ServerView } from '../../view/server-view.ts'
import { ApiError } from '../api-error.ts'
import { includes, type Role } from '../roles.ts'
import { PastAccess } from '../history/access.ts'
import { SessionClients } from '../history/session-clients.ts'
import { changeJson } from '../history/shapes.ts'
import { streamed, type Call, type Route } from '../route.ts'
import { openStream } from '../stream.ts'
import { filterFrom, filterParameters } from './history.ts'

const collectMs = 100
const changesMax = 500

export const historyStream: readonly Route[] = [
  {
    method: 'GET',
    path: '/history/stream',
    summary:
      'Changes as they happen: `ready` with the zxid after which they begin, then `changes`, a few times a second',
    role: 'metadata',
    parameters: {
      ...filterParameters,
      data: { kind: 'flag', description: 'With data; needs the role read' },
    },
    answer: 'text/event-stream',
    handle: follow,
  },
]

async function follow(call: Call): Promise<unknown> {
  const { view, role, query, live } = call
  const wantsData = query.flag('data')
  if (wantsData && !includes(role, 'read')) {
    throw new ApiError(403, 'role', 'Data needs the role read')
  }
  const filter = filterFrom(call)
  const access = new PastAccess(call)
  await openStream(
    call,
    (send, ends) => {
      const batch = new Batch(view, role, wantsData, (told) => send('changes', told))
      const end = live.listen((change) => {
        if (passes(change, filter) && isSeen(access, change)) batch.add(change)
      })
      ends.push(end, () => batch.stop())
    },
    () => ({ zxid: hex(view.peer.lastZxid) }),
  )
  return streamed
}

/**
 * Called before the change is applied: a deleted znode still exists, a created one comes with its
 * ACL.
 */
function isSeen(access: PastAccess, { path, kind, acl }: Change): boolean {
  if (access.seesAll || path === undefined) return true
  if (kind === 'create') return access.grants(acl ?? [])
  if (kind === 'acl' && !access.grants(acl ?? [])) return false
  return access.mayIfThere(path)
}

/** Collects changes for a moment, so that many writes become few events. */
class Batch {
  private readonly view: ServerView
  private readonly role: Role
  private readonly wantsData: boolean
  private readonly tell: (told: object) => void
  private collected: object[] = []
  private clients: SessionClients | undefined
  private missed = 0
  private timer: NodeJS.Timeout | undefined

  constructor(view: ServerView, role: Role, wantsData: boolean, tell: (told: object) => void) {
    this.view = view
    this.role = role
    this.wantsData = wantsData
    this.tell = tell
  }

  add(change: Change): void {
    if (this.collected.length < changesMax) {
      const { view, role, wantsData } = this
      this.clients ??= new SessionClients(view, role)
      const { clients } = this
      this.collected.push(changeJson(change, { view, role, wantsData, clients }))
    } else this.missed++
    this.timer ??= setTimeout(() => this.flush(), collectMs)
  }

  private flush(): void {
    this.timer = undefined
    const told = { changes: this.collected, missed: this.missed }
    this.collected = []
    // Clients come and go.
    this.clients = undefined
    this.missed = 0
    this.tell(told)
  }

  stop(): void {
    clearTimeout(this.timer)
  }
}
