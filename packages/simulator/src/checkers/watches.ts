/**
 * Checks notifications: none missing, none superfluous, none too early or late. For each connection
 * it compares the frames that arrived with those that had to arrive, and their positions between
 * the replies.
 */
import {
  addWatchModes,
  errorCodes,
  eventTypes,
  parentOf,
  permissions,
  watcherTypes,
} from '@zabra/protocol'
import type { Request, Result } from '../client/request.ts'
import type { Conversation, History } from '../history/history.ts'
import { mayDo } from '../model/acl.ts'
import type { Change } from '../model/model.ts'
import type { Report } from './report.ts'
import type { Timeline } from './timeline.ts'

const standard = 1
const persistent = 2
const recursive = 4
const every = standard | persistent | recursive
const { nodeCreated, nodeDeleted, nodeDataChanged, nodeChildrenChanged } = eventTypes

export function checkWatches(history: History, timeline: Timeline, report: Report): void {
  for (const conversation of history.conversations) {
    new Follower(conversation, timeline, report).follow()
  }
}

interface Told {
  readonly zxid: bigint
  readonly type: number
  readonly path: string
}

interface Expected extends Told {
  /**
   * Whether the client could read the node depends on its identities at that moment, which are
   * unknown.
   */
  readonly isDoubtful: boolean
}

class Follower {
  private readonly conversation: Conversation
  private readonly timeline: Timeline
  private readonly report: Report
  private readonly data = new Map<string, number>()
  private readonly children = new Map<string, number>()
  private readonly identities: string[] = []
  /**
   * Identities added since the last reply with a zxid: other events may come before or after them.
   */
  private readonly recent: string[] = []
  private expected: Expected[] = []
  /** All events up to this moment were delivered, or are in `expected`. */
  private reached = -1

  constructor(conversation: Conversation, timeline: Timeline, report: Report) {
    this.conversation = conversation
    this.timeline = timeline
    this.report = report
  }

  follow(): void {
    const catchUps: Told[] = []
    for (const frame of this.conversation.frames) {
      if (frame.kind === 'notification') {
        if (frame.zxid === -1n) catchUps.push(frame)
        else if (!this.told(frame)) return
        continue
      }
      // Added before this answer arrived, but perhaps after its request was sent.
      const { length: sure } = this.identities
      if (frame.zxid > 0n) {
        this.advance(this.timeline.placeOf(frame.zxid) ?? this.reached)
        this.expected = this.expected.filter(({ isDoubtful }) => !isDoubtful)
        this.identities.push(...this.recent.splice(0))
        if (this.expected.length > 0) {
          const due = this.expected.map(show).join()
          this.complain(`was shown zxid ${frame.zxid} before it was told of ${due}`)
          return
        }
      }
      if (frame.kind === 'ping') continue
      const { request, result } = frame.operation
      if (request.op === 'setWatches') {
        this.restored(request, frame.zxid, catchUps.splice(0), sure)
      } else {
        this.answered(request, result!)
      }
    }
    if (catchUps.length > 0 && this.conversation.frames.at(-1)?.kind !== 'notification') {
      this.complain(`was told of ${catchUps.map(show).join()} without having asked`)
    }
  }

  private complain(what: string): void {
    const { client, session, life } = this.conversation
    this.report(`${client} (session ${session}, life ${life}) ${what}`)
  }

  /** The next expected notification must be this one. */
  private told(frame: Told): boolean {
    const place = this.timeline.placeOf(frame.zxid) ?? -1
    let due: Expected | undefined
    do {
      while (this.expected.length === 0 && this.reached < place) this.advance(this.reached + 1)
      due = this.expected.shift()
    } while (due?.isDoubtful === true && show(due) !== show(frame))
    if (due !== undefined && show(due) === show(frame)) {
      this.identities.push(...this.recent.splice(0))
      return true
    }
    this.complain(
      `was told ${show(frame)}, but due was ${due === undefined ? 'nothing' : show(due)}`,
    )
    return false
  }

  private advance(upTo: number): void {
    // Events before the first frame came before there could be a watch.
    if (this.reached < 0) this.reached = upTo
    while (this.reached < upTo) {
      const moment = this.timeline.moments[++this.reached]
      for (const change of moment?.changes ?? []) this.fire(moment!.zxid, change)
    }
  }

  private fire(zxid: bigint, { type, path, acl, parentAcl }: Change): void {
    let isHit = this.hit(this.data, path)
    for (let above = path; ; above = parentOf(above)) {
      if (((this.data.get(above) ?? 0) & recursive) !== 0) isHit = true
      if (above === '/') break
    }
    if (type === nodeDeleted && this.hit(this.children, path)) isHit = true
    if (isHit) this.expect({ zxid, type, path }, acl)
    if (type === nodeDataChanged) return
    const parent = parentOf(path)
    if (this.hit(this.children, parent)) {
      this.expect({ zxid, type: nodeChildrenChanged, path: parent }, parentAcl)
    }
  }

  private expect(told: Told, acl: Change['acl']): void {
    const isSure = mayDo(acl, permissions.read, this.identities)
    if (isSure || mayDo(acl, permissions.read, [...this.identities, ...this.recent])) {
      this.expected.push({ ...told, isDoubtful: !isSure })
    }
  }

  /** Whether there is a watch; removes one-shot watches. */
  private hit(table: Map<string, number>, path: string): boolean {
    const modes = table.get(path) ?? 0
    if ((modes & standard) !== 0) set(table, path, modes & ~standard)
    return modes !== 0
  }

  private answered(request: Request, { err }: Result): void {
    switch (request.op) {
      case 'exists':
        if (request.watch && (err === 0 || err === errorCodes.noNode))
          this.add(this.data, request.path)
        return
      case 'getData':
        if (request.watch && err === 0) this.add(this.data, request.path)
        return
      case 'getChildren':
      case 'getChildren2':
        if (request.watch && err === 0) this.add(this.children, request.path)
        return
      case 'addWatch':
        if (request.mode === addWatchModes.persistent) {
          this.add(this.data, request.path, persistent)
          this.add(this.children, request.path, persistent)
        } else {
          this.add(this.data, request.path, recursive)
        }
        return
      case 'removeWatches':
      case 'checkWatches':
        this.removedOrChecked(request, err)
        return
      case 'auth': {
        const id = `${request.user.split(':', 1)[0]}:hash`
        if (!this.identities.includes(id)) this.recent.push(id)
        return
      }
      default:
    }
  }

  private removedOrChecked(
    request: Extract<Request, { op: 'removeWatches' | 'checkWatches' }>,
    err: number,
  ): void {
    const { op, path, type } = request
    const modes = modesOf[type]!
    const ofData = this.data.get(path) ?? 0
    const ofChildren = this.children.get(path) ?? 0
    const has = (ofData & modes.data) !== 0 || (ofChildren & modes.children) !== 0
    if (has !== (err === 0)) this.complain(`was answered ${err} to ${op} ${type} of ${path}`)
    if (op === 'checkWatches') return
    set(this.data, path, ofData & ~modes.data)
    set(this.children, path, ofChildren & ~modes.children)
  }

  private add(table: Map<string, number>, path: string, mode = standard): void {
    table.set(path, (table.get(path) ?? 0) | mode)
  }

  /** After a reconnect: missed events come before the answer; the other watches are set again. */
  private restored(
    request: Extract<Request, { op: 'setWatches' }>,
    zxid: bigint,
    told: readonly Told[],
    sure: number,
  ): void {
    const { since, data, exist, child, ...lasting } = request.watches
    const tree = this.timeline.moments[this.timeline.placeOf(zxid) ?? -1]?.tree
    if (tree === undefined) return
    const due: Expected[] = []
    const tell = (type: number, path: string, acl: Change['acl'] | undefined): void => {
      const known = this.identities.slice(0, sure)
      const isSure = acl === undefined || mayDo(acl, permissions.read, known)
      const all = [...this.identities, ...this.recent]
      if (!isSure && !mayDo(acl, permissions.read, all)) return
      due.push({ zxid: -1n, type, path, isDoubtful: !isSure })
    }
    for (const path of data) {
      const node = tree.get(path)
      if (node === undefined) tell(nodeDeleted, path, undefined)
      else if (node.mzxid > since) tell(nodeDataChanged, path, node.acl)
      else this.add(this.data, path)
    }
    for (const path of exist) {
      const node = tree.get(path)
      if (node !== undefined) tell(nodeCreated, path, node.acl)
      else this.add(this.data, path)
    }
    for (const path of child) {
      const node = tree.get(path)
      if (node === undefined) tell(nodeDeleted, path, undefined)
      else if (node.pzxid > since) tell(nodeChildrenChanged, path, node.acl)
      else this.add(this.children, path)
    }
    for (const path of lasting.persistent) {
      this.add(this.data, path, persistent)
      this.add(this.children, path, persistent)
    }
    for (const path of lasting.recursive) this.add(this.data, path, recursive)
    if (isTold(due, told)) return
    this.complain(`coming back was told ${told.map(show).join()}, due was ${due.map(show).join()}`)
  }
}

/** Whether all expected notifications came in order, with or without the doubtful ones. */
function isTold(due: readonly Expected[], told: readonly Told[]): boolean {
  let at = 0
  for (const each of due) {
    if (at < told.length && show(told[at]!) === show(each)) at++
    else if (!each.isDoubtful) return false
  }
  return at === told.length
}

const modesOf: Readonly<Record<number, { data: number; children: number }>> = {
  [watcherTypes.children]: { data: 0, children: standard },
  [watcherTypes.data]: { data: standard, children: 0 },
  [watcherTypes.any]: { data: every, children: every },
  [watcherTypes.persistent]: { data: persistent, children: persistent },
  [watcherTypes.persistentRecursive]: { data: recursive, children: 0 },
}

function set(table: Map<string, number>, path: string, modes: number): void {
  if (modes === 0) table.delete(path)
  else table.set(path, modes)
}

function show({ zxid, type, path }: Told): string {
  return `${type} ${path} at ${zxid}`
}
