import { acl, isRefusal, type Acl, type Client, type Stat } from '@zabra/client'
import type { Random } from '../../../../server/test/support/random.ts'
import { nodeText, type Ledger } from './ledger.ts'

const pauseMs = 20
const open = JSON.parse(JSON.stringify(acl.open)) as readonly Acl[]
const readable: readonly Acl[] = [
  { perms: 31, id: { scheme: 'world', id: 'anyone' } },
  { perms: 1, id: { scheme: 'ip', id: '127.0.0.1' } },
]

type Kind = 'persistent' | 'container' | 'ttl'

interface Node {
  readonly data: string
  readonly kind: Kind
  readonly acl: readonly Acl[]
}

/** Changes a subtree of its own, one transaction after another, and keeps the ledger of them. */
export class Writer {
  private readonly client: Client
  private readonly top: string
  private readonly random: Random
  private readonly ledger: Ledger
  private readonly nodes = new Map<string, Node>()
  private count = 0
  private isOver = false
  /** Transactions of which the answer was lost. */
  lost = 0

  constructor(client: Client, top: string, random: Random, ledger: Ledger) {
    this.client = client
    this.top = top
    this.random = random
    this.ledger = ledger
  }

  stop(): void {
    this.isOver = true
  }

  async run(): Promise<void> {
    await this.create(this.top, { data: 'top', kind: 'persistent', acl: open })
    while (!this.isOver) await this.step()
  }

  private async step(): Promise<void> {
    const { random } = this
    const path = `${this.top}/n${random.int(24)}`
    const child = `${path}/c${random.int(3)}`
    const node = this.nodes.get(path)
    if (node === undefined) return this.create(path, this.made())
    if (random.chance(0.5)) return this.set(path, node)
    if (random.chance(0.2)) return this.both(path, node)
    if (this.nodes.has(child)) {
      if (random.chance(0.6)) return this.delete(child)
      return this.set(child, this.nodes.get(child)!)
    }
    const isEmpty = ![...this.nodes.keys()].some((other) => other.startsWith(`${path}/`))
    if (isEmpty && random.chance(0.4)) return this.delete(path)
    return this.create(child, this.made())
  }

  private made(): Node {
    const kind = this.random.pick(['persistent', 'persistent', 'container', 'ttl'] as const)
    return { data: this.token(), kind, acl: this.random.pick([open, readable]) }
  }

  /** Data that nobody writes twice, so that it shows which write was done. */
  private token(): string {
    return `${this.top} ${++this.count} ${'x'.repeat(this.random.int(300))}`
  }

  private create(path: string, node: Node): Promise<void> {
    const { data, kind } = node
    const options = {
      acl: node.acl,
      ...(kind === 'container' ? { container: true } : {}),
      ...(kind === 'ttl' ? { ttlMs: 3_600_000 } : {}),
    }
    return this.change(
      async () => (await this.client.create(path, data, options)).stat,
      async () => this.client.exists(path),
      (stat) => this.note(stat.czxid, Number(stat.ctime), [[path, node]]),
    )
  }

  private set(path: string, before: Node): Promise<void> {
    const node = { ...before, data: this.token() }
    return this.change(
      () => this.client.set(path, node.data),
      () => this.statIfHolds(path, node.data),
      (stat) => this.note(stat.mzxid, Number(stat.mtime), [[path, node]]),
    )
  }

  /** Two changes in one transaction. */
  private both(path: string, before: Node): Promise<void> {
    const node = { ...before, data: this.token() }
    const topNode: Node = { data: this.token(), kind: 'persistent', acl: open }
    return this.change(
      async () => {
        const results = await this.client
          .transaction()
          .set(path, node.data)
          .set(this.top, topNode.data)
          .commit()
        return results[0] as Stat
      },
      () => this.statIfHolds(path, node.data),
      (stat) =>
        this.note(stat.mzxid, Number(stat.mtime), [
          [path, node],
          [this.top, topNode],
        ]),
    )
  }

  private async delete(path: string): Promise<void> {
    const parent = path.slice(0, path.lastIndexOf('/'))
    await this.change(
      async () => {
        await this.client.delete(path)
        return this.client.exists(parent)
      },
      async () =>
        (await this.client.exists(path)) === undefined ? this.client.exists(parent) : undefined,
      (stat) => this.note(stat.pzxid, undefined, [[path, undefined]]),
    )
  }

  private async statIfHolds(path: string, wanted: string): Promise<Stat | undefined> {
    const { data, stat } = await this.client.get(path)
    return Buffer.from(data).toString() === wanted ? stat : undefined
  }

  /** Does something, and finds out whether it was done where the answer was lost. */
  private async change(
    act: () => Promise<Stat | undefined>,
    look: () => Promise<Stat | undefined>,
    done: (stat: Stat) => void,
  ): Promise<void> {
    let stat: Stat | undefined
    try {
      stat = await act()
    } catch (error) {
      if (isRefusal(error)) throw error
      this.lost++
      stat = await this.afterwards(look)
    }
    if (stat !== undefined) done(stat)
  }

  private async afterwards(look: () => Promise<Stat | undefined>): Promise<Stat | undefined> {
    for (;;) {
      try {
        // Behind it, everything that this session has sent was done, or never will be.
        await this.client.put(`${this.top}-fence`, '')
        return await look()
      } catch (error) {
        if (isRefusal(error)) throw error
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
  }

  private note(
    zxid: bigint,
    timeMs: number | undefined,
    changes: readonly (readonly [string, Node | undefined])[],
  ): void {
    for (const [path, node] of changes) {
      if (node === undefined) this.nodes.delete(path)
      else this.nodes.set(path, node)
    }
    this.ledger.add({
      zxid,
      timeMs,
      changes: changes.map(([path, node]) => [
        path,
        node && nodeText(Buffer.from(node.data), node.kind, node.acl),
      ]),
    })
  }
}
