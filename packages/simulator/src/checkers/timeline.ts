/**
 * Executes the log on disk with the model: gives the tree after every transaction, and checks that
 * each transaction is what its request should have become.
 */
import {
  codes,
  errorCodes,
  parentOf,
  readTxnBody,
  Reader,
  TxnHeader,
  type Txn,
} from '@zabra/protocol'
import { isSameResult, isWrite, show, type Request, type Result } from '../client/request.ts'
import type { History, Operation } from '../history/history.ts'
import { counterOf } from '../history/zxids.ts'
import {
  drop,
  endSession,
  ephemeralsOf,
  execute,
  failedMulti,
  type Change,
  type Step,
} from '../model/model.ts'
import { emptyTree } from '../model/state.ts'
import type { Tree } from '../model/tree.ts'
import type { Report } from './report.ts'

export interface Moment {
  readonly tree: Tree
  readonly changes: readonly Change[]
  readonly session: bigint
  readonly cxid: number
  readonly time: bigint
  readonly zxid: bigint
  /** Refused because the session had moved: the request had no effect. */
  readonly isTooLate: boolean
}

export interface Timeline {
  /** One after each transaction; the first is the initial state. */
  readonly moments: readonly Moment[]
  /** The index of the moment of a zxid; undefined if the history does not contain it. */
  readonly placeOf: (zxid: bigint) => number | undefined
  /** The moments at which each session began and ended. */
  readonly sessions: ReadonlyMap<bigint, { readonly from: number; to?: number }>
}

/** The log must be in the order of its zxids; on a standalone server they have no gap. */
export function makeTimeline(
  log: ReadonlyMap<bigint, Uint8Array>,
  history: History,
  expired: ReadonlySet<bigint>,
  isEnsemble: boolean,
  report: Report,
): Timeline {
  return new Execution(history, expired, isEnsemble, report).run(log)
}

class Execution {
  private readonly report: Report
  private readonly history: History
  private readonly expired: ReadonlySet<bigint>
  private readonly isEnsemble: boolean
  private readonly asked = new Map<string, Operation>()
  private readonly seen = new Set<string>()
  private readonly lastCxid = new Map<bigint, number>()
  private readonly sessions = new Map<bigint, { from: number; to?: number }>()
  private readonly sequences = new Map<string, number>()
  private readonly places = new Map<bigint, number>()
  private place = 0

  constructor(history: History, expired: ReadonlySet<bigint>, isEnsemble: boolean, report: Report) {
    this.history = history
    this.isEnsemble = isEnsemble
    this.expired = expired
    this.report = report
    for (const operation of history.operations) {
      if (isWrite(operation.request) || operation.request.op === 'closeSession') {
        this.asked.set(key(operation.session, operation.xid), operation)
      }
    }
  }

  run(log: ReadonlyMap<bigint, Uint8Array>): Timeline {
    const nobody = { session: 0n, cxid: 0, time: 0n, zxid: 0n, isTooLate: false }
    const moments: Moment[] = [{ tree: emptyTree, changes: [], ...nobody }]
    for (const [zxid, payload] of log) {
      const reader = new Reader(payload)
      const header = TxnHeader.read(reader)
      const txn = readTxnBody(reader, header.type)
      const { tree } = moments.at(-1)!
      this.place = moments.length
      this.places.set(zxid, this.place)
      const isTooLate = txn.type === codes.error && tooLate.has(txn.body.err)
      const step = this.step(tree, header, txn, isTooLate)
      const { clientId: session, cxid, time } = header
      moments.push({ tree: step.tree, changes: step.changes, session, cxid, time, zxid, isTooLate })
    }
    this.checkAnswers(moments)
    return { moments, sessions: this.sessions, placeOf: (zxid) => this.placeOf(zxid, moments) }
  }

  /** The first zxid of an epoch is not a transaction: it stands for the state before it. */
  private placeOf(zxid: bigint, moments: readonly Moment[]): number | undefined {
    const place = this.places.get(zxid)
    if (place !== undefined || counterOf(zxid) > 0n) return place
    return moments.findLastIndex((moment) => moment.zxid <= zxid)
  }

  private step(tree: Tree, header: TxnHeader, txn: Txn, isTooLate: boolean): Step {
    const { clientId, zxid } = header
    if (txn.type === codes.createSession) return this.beginSession(tree, header)
    if (txn.type === codes.closeSession) return this.endSession(tree, header, txn.body.paths2Delete)
    if (txn.type === codes.deleteContainer) return this.reclaim(tree, header, txn.body.path)
    if (this.history.adminSessions.has(clientId)) return { tree, result: { err: 0 }, changes: [] }
    const id = key(clientId, header.cxid)
    const operation = this.asked.get(id)
    if (operation === undefined) {
      this.report(`transaction ${zxid} (${id}) was asked for by nobody`)
      return { tree, result: { err: 0 }, changes: [] }
    }
    // It arrived through a server that the session had left, so it must have no effect.
    if (isTooLate) return { tree, result: { err: 0 }, changes: [] }
    this.once(id, header)
    const session = this.sessions.get(clientId)
    const isAlive = session === undefined ? this.isLocal(operation) : session.to === undefined
    if (!isAlive) {
      this.report(`transaction ${zxid} is of session ${clientId}, which is not alive there`)
    }
    const { isLocal, identities } = operation
    const step = execute(tree, operation.request, {
      session: clientId,
      isLocal,
      identities,
      zxid,
      time: header.time,
    })
    this.compareLogged(operation, zxid, txn, step.result)
    this.checkSequence(operation, step)
    return step
  }

  /** A local session, which only one server knows, is in no log before its first ephemeral node. */
  private isLocal({ session, request }: Operation): boolean {
    const { hasLocalSessions, haveOnlyLocalSessions, sessions } = this.history
    if (!hasLocalSessions || !sessions.has(session)) return false
    return haveOnlyLocalSessions || !createsEphemeral(request)
  }

  /** Each request takes effect at most once, and those of a session in the order they were sent. */
  private once(id: string, { clientId, cxid, zxid }: TxnHeader): void {
    if (this.seen.has(id)) this.report(`request ${id} is in the log twice, again at ${zxid}`)
    this.seen.add(id)
    const last = this.lastCxid.get(clientId) ?? 0
    if (cxid <= last) this.report(`request ${id} at ${zxid} overtook #${last} of its session`)
    this.lastCxid.set(clientId, cxid)
  }

  private beginSession(tree: Tree, { clientId, zxid }: TxnHeader): Step {
    if (this.sessions.has(clientId)) {
      this.report(`session id ${clientId} is handed out a second time at zxid ${zxid}`)
    }
    this.sessions.set(clientId, { from: this.place })
    return { tree, result: { err: 0 }, changes: [] }
  }

  private endSession(tree: Tree, header: TxnHeader, listed: readonly string[] | undefined): Step {
    const { clientId, cxid, zxid } = header
    const session = this.sessions.get(clientId)
    const isAsked = this.asked.get(key(clientId, cxid))?.request.op === 'closeSession'
    // A request sent to another server may find its session expired, and be logged nevertheless.
    const isLate = this.isEnsemble && isAsked && session?.to !== undefined
    if (session === undefined) this.report(`session ${clientId} ends at ${zxid} and never began`)
    else if (session.to === undefined) session.to = this.place
    else if (!isLate) this.report(`session ${clientId} ends twice, at ${zxid}`)
    // A close request that arrives through a server that the session has left may take effect late,
    // as in Apache: the client asked for it.
    if (isAsked && !this.isEnsemble) this.once(key(clientId, cxid), header)
    if (!isAsked && !this.expired.has(clientId)) {
      this.report(`session ${clientId} ended at ${zxid}, neither closed nor expired`)
    }
    const owned = ephemeralsOf(tree, clientId)
    if (listed !== undefined && owned.toSorted().join() !== listed.toSorted().join()) {
      const [has, should] = [listed.join(), owned.join()]
      this.report(`the end of session ${clientId} at ${zxid} lists [${has}], it owns [${should}]`)
    }
    return endSession(tree, listed ?? owned, zxid)
  }

  private reclaim(tree: Tree, { zxid, time }: TxnHeader, path: string): Step {
    const node = tree.get(path)
    const isDue =
      node !== undefined &&
      node.children === 0 &&
      (node.isContainer
        ? node.creates > 0
        : node.ttlMs !== undefined && Number(time - node.mtime) > node.ttlMs)
    if (!isDue) this.report(`${path} was reclaimed at ${zxid} though it was not due: ${show(node)}`)
    return drop(tree, path, zxid)
  }

  /** The log must contain the success or the error that the model computes. */
  private compareLogged({ request }: Operation, zxid: bigint, txn: Txn, result: Result): void {
    const logged =
      txn.type === codes.error
        ? txn.body.err
        : txn.type === codes.multi && txn.body.txns.some(({ type }) => type === codes.error)
          ? 'failed multi'
          : 0
    const expected = failedMulti(result) ? 'failed multi' : result.err
    if (logged !== expected) {
      this.report(`at ${zxid} ${show(request)} is logged as ${logged} and should be ${expected}`)
    }
  }

  /** Sequence numbers below a node only grow, despite deletions and restarts. */
  private checkSequence({ request }: Operation, { result, tree }: Step): void {
    const created = request.op === 'multi' ? (result.parts ?? []) : [result]
    const asked = request.op === 'multi' ? request.parts : [request]
    for (const [i, { path }] of created.entries()) {
      const part = asked[i]
      if (path === undefined || part?.op !== 'create' || path === part.path) continue
      const number = Number(path.slice(part.path.length))
      const parent = parentOf(part.path)
      // A parent that was created again is another node, and counts from 0.
      const id = `${parent} of ${tree.get(parent)?.czxid}`
      const last = this.sequences.get(id) ?? -1
      if (number <= last) this.report(`sequence number ${number} below ${parent} after ${last}`)
      this.sequences.set(id, number)
    }
  }

  /** The answers to clients must equal the model's answers at the zxids in the replies. */
  private checkAnswers(moments: readonly Moment[]): void {
    for (const operation of this.history.operations) {
      const { request, result, zxid, session, isLocal, identities, xid } = operation
      if (result === undefined || zxid === undefined || unanswerable.has(request.op)) continue
      const at = this.placeOf(zxid, moments)
      const moment = at === undefined ? undefined : moments[at]
      if (at === undefined || moment === undefined) {
        this.report(`${describe(operation)} was answered at zxid ${zxid}, which no log has`)
        continue
      }
      const isLogged = isWrite(request)
      if (isLogged && result.err === errorCodes.systemError) {
        // The disk was full: the request must have no effect.
        if (this.seen.has(key(session, xid))) {
          this.report(`${describe(operation)} was refused and happened all the same`)
        }
        continue
      }
      if (isLogged && (moment.session !== session || moment.cxid !== xid)) {
        this.report(`${describe(operation)} was answered at zxid ${zxid}, which is another's`)
        continue
      }
      const before = isLogged ? moments[at - 1]! : moment
      const { time } = moment
      const by = { session, isLocal, identities, zxid, time }
      const expected = execute(before.tree, request, by).result
      if (!isSameResult(expected, result)) {
        this.report(
          `${describe(operation)} at ${zxid} got ${show(result)} and should get ${show(expected)}`,
        )
      }
    }
  }
}

/** Errors that depend on the session, not on the tree. */
const tooLate: ReadonlySet<number> = new Set([errorCodes.sessionMoved, errorCodes.sessionExpired])

/** Requests that the connection answers, not the tree. */
function createsEphemeral(request: Request): boolean {
  const parts = request.op === 'multi' ? request.parts : [request]
  return parts.some((part) => part.op === 'create' && (part.flags === 1 || part.flags === 3))
}

const unanswerable: ReadonlySet<string> = new Set([
  'auth',
  'whoAmI',
  'closeSession',
  'setWatches',
  'addWatch',
  'removeWatches',
  'checkWatches',
])

function key(session: bigint, xid: number): string {
  return `0x${session.toString(16)}#${xid}`
}

export function describe({ client, xid, request }: Operation): string {
  return `${client} #${xid} ${show(request)}`
}
