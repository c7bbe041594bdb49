import { createFlags, errorCodes, type MultiOp } from '@zabra/protocol'
import type { Random } from '../random.ts'
import { openAcl, type RawClient } from '../raw-client.ts'
import { Book, type Found, type How, type Step } from './book.ts'

interface Sent {
  readonly step: Step
  readonly number: number
}

/** A shared node whose creation was acknowledged. */
export interface SharedAck {
  readonly path: string
  readonly data: string
  readonly zxid: bigint
}

const flagsOf: Readonly<Record<How, number>> = {
  plain: createFlags.persistent,
  sequential: createFlags.persistentSequential,
  ephemeral: createFlags.ephemeral,
}
const entriesMax = 120
const depthMax = 60

/**
 * Writes into its own subtree, many requests at a time, and records what to expect.
 *
 * Requests of one session are executed in order. So after a crash the subtree must be in the state
 * after some number of them: at least the acknowledged ones, at most those sent.
 */
export class Writer {
  readonly root: string
  /** The session of a fleeting writer is never resumed: its ephemerals must be deleted. */
  readonly isFleeting: boolean
  readonly problems: string[] = []
  readonly shared: SharedAck[] = []
  readonly zxids: bigint[] = []
  client: RawClient | undefined
  acknowledged = 0
  /** The highest acknowledged zxid of all writers: later requests must get a higher one. */
  tide: { zxid: bigint } | undefined
  private book = new Book()
  private planned = new Book()
  private sent: Sent[] = []
  private readonly random: Random
  private stepsPlanned = 0
  private sharedParent = ''

  constructor(root: string, isFleeting: boolean, random: Random) {
    this.root = root
    this.isFleeting = isFleeting
    this.random = random
  }

  /** Sends and receives until the connection ends; `pause` is called between bursts of requests. */
  async work(
    client: RawClient,
    sharedParent: string,
    pause?: (random: Random) => Promise<void>,
  ): Promise<void> {
    this.client = client
    this.sharedParent = sharedParent
    const depth = this.random.between(1, depthMax)
    while (client.isConnected) {
      let last: Promise<void> | undefined
      while (client.outstanding < depth && client.isConnected) last = this.sendOne(client)
      await last
      await pause?.(this.random)
    }
  }

  /**
   * Finds which of the unanswered steps the server executed: the first few. Undefined if no number
   * fits.
   */
  settle(found: Found): { readonly lost: readonly Step[] } | { readonly problem: string } {
    const candidate = this.book.copy()
    let problem: string | undefined
    for (let kept = 0; kept <= this.sent.length; kept++) {
      if (kept > 0) candidate.apply(this.sent[kept - 1]!.step)
      const shown = this.isFleeting ? withoutEphemerals(candidate, found) : candidate
      const difference = shown.differenceFrom(found)
      if (difference === undefined) {
        // Steps without a visible effect may or may not have been executed.
        const lost = this.sent.slice(kept).map(({ step }) => step)
        candidate.learn(found)
        this.book = candidate
        return { lost }
      }
      problem ??= difference
    }
    const { sent, acknowledged } = this
    return { problem: `${problem} (${acknowledged} acknowledged, ${sent.length} more sent)` }
  }

  /**
   * Starts over from the state of the server. Returns the paths of the ephemerals that must be
   * deleted.
   */
  settled(): string[] {
    const going = this.isFleeting ? this.book.dropEphemerals() : []
    this.planned = this.book.copy()
    this.sent = []
    this.shared.length = 0
    this.client = undefined
    return going.map((name) => `${this.root}/${name}`)
  }

  /** The number of steps sent without an answer, until they are settled. */
  get unansweredCount(): number {
    return this.sent.length
  }

  /** The data of shared nodes that were requested and never answered. */
  unansweredShared(): string[] {
    return this.sent.flatMap(({ step }) => (step.kind === 'shared' ? [step.data] : []))
  }

  private sendOne(client: RawClient): Promise<void> {
    const step = this.plan()
    this.planned.apply(step)
    this.sent.push({ step, number: ++this.stepsPlanned })
    const floor = this.tide?.zxid ?? 0n
    return this.request(client, step).then(
      ({ zxid, err, problem }) => {
        if (this.isFleeting && err === errorCodes.sessionExpired) {
          client.socket.destroy() // Its time is over: neither this step nor the following ones take effect.
          return
        }
        const expected = this.sent.shift()
        if (expected?.step !== step) problem ??= 'a reply out of order'
        if (err !== 0) problem ??= `refused with ${err}`
        if (zxid <= floor)
          problem ??= `zxid ${hex(zxid)}, sent after ${hex(floor)} was acknowledged`
        if (this.tide !== undefined && zxid > this.tide.zxid) this.tide.zxid = zxid
        if (problem !== undefined) this.problems.push(`${this.root} ${describe(step)}: ${problem}`)
        this.book.apply(step, zxid)
        this.zxids.push(zxid)
        this.acknowledged++
      },
      () => {}, // Lost: the step stays among those sent.
    )
  }

  private async request(
    client: RawClient,
    step: Step,
  ): Promise<{ zxid: bigint; err: number; problem?: string | undefined }> {
    const { root } = this
    switch (step.kind) {
      case 'create': {
        const { name, data, how } = step
        const path = how === 'sequential' ? `${root}/q-` : `${root}/${name}`
        const request = { path, data: Buffer.from(data), acl: openAcl, flags: flagsOf[how] }
        const { zxid, err, response } = await client.call('create2', request)
        const wrong = err === 0 && response?.path !== `${root}/${name}`
        return { zxid, err, problem: wrong ? `became ${response?.path}` : undefined }
      }
      case 'setData': {
        const path = `${root}/${step.name}`
        const { version = -1 } = step
        const request = { path, data: Buffer.from(step.data), version }
        const { zxid, err } = await client.call('setData', request)
        return { zxid, err }
      }
      case 'delete': {
        const { zxid, err } = await client.call('delete', {
          path: `${root}/${step.name}`,
          version: -1,
        })
        return { zxid, err }
      }
      case 'multi': {
        const { zxid, err, response } = await client.call(
          'multi',
          step.steps.map((part) => this.part(part)),
        )
        const failed = response?.find((result) => result.err !== 0)
        return { zxid, err: failed?.err ?? err }
      }
      case 'refusedMulti': {
        const { name, data } = step
        const create = this.part({ kind: 'create', name, data, how: 'plain' })
        const check: MultiOp = { type: 13, request: { path: root, version: 77 } }
        const { zxid, response } = await client.call('multi', [create, check])
        const refusal = response?.at(-1)?.err
        const wrong = refusal !== errorCodes.badVersion
        return { zxid, err: 0, problem: wrong ? `answered ${refusal}` : undefined }
      }
      case 'shared': {
        const { data } = step
        const path = `${this.sharedParent}/s-`
        const request = { path, data: Buffer.from(data), acl: openAcl, flags: flagsOf.sequential }
        const { zxid, err, response } = await client.call('create', request)
        if (response !== undefined) this.shared.push({ path: response.path, data, zxid })
        return { zxid, err }
      }
    }
  }

  private part(step: Step): MultiOp {
    const path = `${this.root}/${'name' in step ? step.name : ''}`
    switch (step.kind) {
      case 'create': {
        const data = Buffer.from(step.data)
        return { type: 1, request: { path, data, acl: openAcl, flags: flagsOf[step.how] } }
      }
      case 'setData':
        return { type: 5, request: { path, data: Buffer.from(step.data), version: -1 } }
      case 'delete':
        return { type: 2, request: { path, version: -1 } }
      default:
        throw new Error(`${step.kind} is no part of a multi`)
    }
  }

  /** A step that will succeed after everything sent so far. */
  private plan(): Step {
    const { random, planned } = this
    const names = [...planned.entries.keys()]
    const id = this.stepsPlanned
    const data = `${id}${'.'.repeat(random.int(random.chance(0.02) ? 20_000 : 100))}`
    const isFull = names.length >= entriesMax
    const dice = random.int(100)
    if (names.length === 0 || (dice < 25 && !isFull)) {
      return { kind: 'create', name: `n-${id}`, data, how: 'plain' }
    }
    if (dice < 35 && !isFull) {
      return { kind: 'create', name: planned.sequentialName(), data, how: 'sequential' }
    }
    if (dice < 42 && !isFull) return { kind: 'create', name: `e-${id}`, data, how: 'ephemeral' }
    const name = random.pick(names)
    if (dice < 50) return { kind: 'setData', name, data }
    if (dice < 60) {
      return { kind: 'setData', name, data, version: planned.entries.get(name)!.version }
    }
    if (dice < 80) return { kind: 'delete', name }
    if (dice < 90) {
      const steps: Step[] = [
        { kind: 'create', name: `m-${id}`, data, how: 'plain' },
        { kind: 'setData', name: `m-${id}`, data: `${id} again` },
        { kind: 'delete', name },
      ]
      return { kind: 'multi', steps }
    }
    if (dice < 94) return { kind: 'refusedMulti', name: `r-${id}`, data }
    return { kind: 'shared', data: `${this.root} ${id}` }
  }
}

/** The ephemerals of a fleeting writer may still exist, or be deleted already. */
function withoutEphemerals(book: Book, found: Found): Book {
  const shown = book.copy()
  for (const name of shown.entries.keys()) {
    if (shown.entries.get(name)!.isEphemeral && !found.nodes.has(name)) shown.entries.delete(name)
  }
  return shown
}

function describe(step: Step): string {
  return 'name' in step ? `${step.kind} ${step.name}` : step.kind
}

const hex = (zxid: bigint): string => `0x${zxid.toString(16)}`
