import { isRefusal, type CallOptions, type Client } from '@zabra/client'
import { epochOf } from '../../history/zxids.ts'
import { ChangedMind } from '../program.ts'
import type { Stage } from '../stage.ts'
import type { Actor, Workload } from '../workload.ts'
import {
  difference,
  mirrorByOneShots,
  mirrorByWatching,
  mirrorOfChildren,
  mirrorOfChildrenByWatching,
  type Mirror,
} from './mirrors.ts'
import { Sequel } from './sequel.ts'
import { Register } from './register.ts'

const names = ['a', 'b', 'c', 'd'] as const
const siblings = names.map((name) => `/client/tree/${name}`)
const places = ['tree', 'news', 'bustle', 'queue', 'own'] as const
const turnWeights = {
  register: 5,
  tree: 5,
  protect: 3,
  reads: 4,
  news: 3,
  bustle: 2,
  whole: 1,
  moves: 2,
} as const
const lateMsMax = 5
const bustleMax = 8

/** All functions of a client under faults: order, completion of calls, watches, consistency. */
export class ClientWorkload implements Workload {
  private readonly stage: Stage
  private readonly registers: Register[] = []
  private readonly present = new Map<string, { life: number; register: Register }>()
  private readonly mirrors = new Map<string, Mirror[]>()
  private readonly pending = new Map<string, number>()
  /** Checks the notifications about /client/news. */
  private readonly newsSequel: Sequel
  private writes = 0
  /** The zxid of the newest answered write to /client/news. */
  private newsZxid = 0n
  /** The newest change of /client/news that each client was shown. */
  private readonly newsSeen = new Map<Client, bigint>()

  constructor(stage: Stage) {
    this.stage = stage
    this.newsSequel = new Sequel('/client/news', stage)
  }

  async setUp(client: Client): Promise<void> {
    for (const path of ['/client', ...places.map((place) => `/client/${place}`)])
      await client.create(path)
  }

  begin(actor: Actor): void {
    const { client, name } = actor
    this.pending.set(name, 0)
    this.newRegister(actor)
    client.onState(({ name: state }) => {
      // A program that has ended follows nothing any more.
      if (state === 'closed' && this.mirrors.get(name) === mirrors) this.mirrors.delete(name)
      // Requests of an old session may still take effect, so the new one uses another register.
      if (state !== 'expired') return
      this.present.get(name)?.register.end()
      this.newRegister(actor)
    })
    const mirrors = [
      mirrorByWatching(actor, '/client/tree', true),
      mirrorByWatching(actor, '/client/news', false, this.newsSequel.reader(name)),
      mirrorByWatching(actor, '/client/tree/a', false),
      mirrorOfChildrenByWatching(actor, '/client/tree/a'),
      mirrorByWatching(actor, '/client/bustle', false),
      mirrorOfChildrenByWatching(actor, '/client/bustle'),
      ...siblings.map((path) => mirrorByOneShots(actor, path)),
      mirrorOfChildren(actor, '/client/tree/c'),
    ]
    this.mirrors.set(name, mirrors)
  }

  async turn(actor: Actor): Promise<void> {
    const kind = actor.chance.weighted(turnWeights)
    this.stage.count(`op: ${kind}`)
    switch (kind) {
      case 'register':
        await this.present.get(actor.name)!.register.burst(actor)
        return
      case 'tree':
        await this.changeTree(actor)
        return
      case 'protect':
        await this.protect(actor)
        return
      case 'reads':
        await this.readThings(actor)
        return
      case 'news':
        for (let i = 0; i < 4; i++) await this.news(actor)
        return
      case 'bustle':
        await this.bustle(actor)
        return
      case 'whole':
        await this.wholeTrees(actor)
        return
      case 'moves':
        for (let i = 0; i < 6; i++) await this.readAgain(actor)
    }
  }

  unrest(): string | undefined {
    const tree = this.stage.tree()
    if (tree === undefined) return 'no server serves'
    for (const [name, count] of this.pending) if (count > 0) return `${name} waits for ${count}`
    for (const mirror of [...this.mirrors.values()].flat()) {
      const what = difference(mirror, withoutDataOf(mirror, tree))
      if (what !== undefined) return what
    }
    const orphan = [...tree.keys()].find((path) => path.startsWith('/client/queue/'))
    return orphan === undefined ? undefined : `${orphan} is left`
  }

  check(): void {
    for (const register of this.registers) register.check()
    this.newsSequel.check()
  }

  mayStay(path: string): boolean {
    const isPlace = places.some((place) => path === `/client/${place}`)
    return path === '/client' || isPlace || /^\/client\/(tree|bustle)\//.test(path)
  }

  private newRegister({ name, life }: Actor): void {
    const path = `/client/own/${name}-${this.registers.length}`
    const register = new Register(path, this.stage)
    this.registers.push(register)
    this.present.set(name, { life, register })
  }

  private async changeTree({ client, chance }: Actor): Promise<void> {
    const parent = `/client/tree/${chance.pick(names)}`
    const path = chance.chance(0.5) ? parent : `${parent}/${chance.pick(names)}`
    const data = `${++this.writes}`
    const act = chance.pick(['create', 'create', 'set', 'set', 'delete', 'transaction'] as const)
    try {
      if (act === 'create') await client.create(path, data)
      else if (act === 'set') await client.set(path, data)
      else if (act === 'delete') await client.delete(path)
      else await this.changeTogether(client, parent, chance.pick([path, ...siblings]))
    } catch (error) {
      if (!isRefusal(error, 'noNode', 'nodeExists', 'notEmpty', 'badVersion')) throw error
    }
  }

  /** The notifications come one after the other, and the connection may be cut in between. */
  private async changeTogether(client: Client, path: string, other: string): Promise<void> {
    const data = `${this.writes}`
    await client.transaction().check('/client').set(path, data).set(other, data).commit()
  }

  /** Whatever happens, exactly one node is created, and it can be deleted again. */
  private async protect(actor: Actor): Promise<void> {
    const { client, chance } = actor
    const limits = this.limits(actor)
    const options = { ephemeral: true, sequential: chance.chance(0.7), protect: true, ...limits }
    const { path, stat } = await this.tracked(actor, limits, () =>
      client.create('/client/queue/item-', 'data', options),
    )
    this.stage.trace(`${actor.name} has made ${path}`)
    for (;;) {
      if (client.session?.id !== stat.ephemeralOwner) return
      try {
        await client.delete(path)
        this.stage.trace(`${actor.name} has deleted ${path}`)
        return
      } catch (error) {
        if (isRefusal(error, 'noNode')) return
        if (!isLoss(error)) await actor.process.sleep(100)
      }
    }
  }

  private async readThings(actor: Actor): Promise<void> {
    const { client, chance } = actor
    const path = `/client/tree/${chance.pick(names)}`
    const reads: (() => Promise<unknown>)[] = [
      (options = this.limits(actor)) =>
        this.tracked(actor, options, () => client.exists(path, options)),
      () => client.childrenWithStat(path),
      () => client.getAcl(path),
      () => client.countDescendants('/client'),
      () => client.ephemerals('/'),
      () => client.whoAmI(),
      () => client.sync('/'),
      () => client.readAll([{ get: path }, { children: '/client' }]),
      () => client.checkWatches(path, 'any'),
      (options = this.limits(actor)) =>
        this.tracked(actor, options, () =>
          client.children('/client', { ...options, consistency: 'linearizable' }),
        ),
    ]
    const calls = Array.from({ length: chance.between(1, 6) }, () => chance.pick(reads)())
    for (const result of await Promise.allSettled(calls)) {
      if (result.status === 'fulfilled') continue
      if (!isRefusal(result.reason, 'noNode')) throw result.reason
    }
  }

  /** A linearizable read returns everything that was answered before. */
  private async news({ client, chance }: Actor): Promise<void> {
    if (chance.chance(0.5)) {
      const stat = await client.set('/client/news', `${++this.writes}`)
      this.newsSequel.written(stat)
      const { mzxid } = stat
      if (mzxid > this.newsZxid) this.newsZxid = mzxid
      return
    }
    const least = this.newsZxid
    const { stat } = await client.get('/client/news', { consistency: 'linearizable' })
    // As in Apache, a leader that was replaced without knowing answers from its own epoch.
    const isOfItsTime = epochOf(client.lastZxid) >= epochOf(least)
    if (stat.mzxid < least && isOfItsTime)
      this.stage.violate(`a linearizable read shows ${stat.mzxid} where ${least} was answered`)
  }

  /** A client's view never goes back, whatever the server and the session. */
  private async readAgain({ client, name, process }: Actor): Promise<void> {
    const least = this.newsSeen.get(client) ?? 0n
    const { stat } = await client.get('/client/news')
    if (stat.mzxid < least)
      this.stage.violate(`${name} is shown ${stat.mzxid} of /client/news after ${least}`)
    if (stat.mzxid > (this.newsSeen.get(client) ?? 0n)) this.newsSeen.set(client, stat.mzxid)
    await process.sleep(50)
  }

  /**
   * Children come and go all the time; changes of the node's own data are rare, and must not be
   * missed.
   */
  private async bustle({ client, chance }: Actor): Promise<void> {
    if (chance.chance(0.1)) {
      await client.set('/client/bustle', `${++this.writes}`)
      return
    }
    for (let i = 0; i < bustleMax; i++) {
      const path = `/client/bustle/${chance.pick(names)}`
      try {
        await (chance.chance(0.5) ? client.create(path) : client.delete(path))
      } catch (error) {
        if (!isRefusal(error, 'noNode', 'nodeExists')) throw error
      }
    }
  }

  private async wholeTrees({ client, name, life }: Actor): Promise<void> {
    const path = `/client/deep/${name}-${life}`
    await client.ensure(`${path}/x/y`, { container: true })
    await client.deleteTree(path)
  }

  private limits({ chance, process }: Actor): CallOptions {
    const kind = chance.pick(['none', 'deadline', 'signal'] as const)
    if (kind === 'none') return {}
    const ms = chance.between(1, chance.chance(0.5) ? 20 : 400)
    if (kind === 'deadline') return { timeoutMs: ms }
    const controller = new AbortController()
    process.timer(ms, () => controller.abort(new ChangedMind('did not want to wait')))
    return { signal: controller.signal }
  }

  /** Every call ends, and in time if it has a deadline. */
  private async tracked<T>(
    { name, process }: Actor,
    { timeoutMs, signal }: CallOptions,
    act: () => Promise<T>,
  ): Promise<T> {
    const { pauses } = process
    const calledMs = process.nowMs()
    this.pending.set(name, (this.pending.get(name) ?? 0) + 1)
    try {
      return await act()
    } finally {
      if (process.isAlive) this.pending.set(name, this.pending.get(name)! - 1)
      const tookMs = process.nowMs() - calledMs
      if (timeoutMs !== undefined && tookMs > timeoutMs + lateMsMax && process.pauses === pauses)
        this.stage.violate(`a call of ${name} took ${tookMs} ms, its deadline was ${timeoutMs}`)
      if (signal?.aborted === true) this.stage.count('calls given up')
    }
  }
}

function isLoss(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'connectionLoss'
}

/** Without data, for a mirror that only lists children. */
function withoutDataOf(mirror: Mirror, tree: Parameters<typeof difference>[1]): typeof tree {
  if (!mirror.name.includes('listing')) return tree
  return new Map([...tree].map(([path, node]) => [path, { ...node, data: '' }]))
}
