import { addWatchModes, watcherTypes } from '@zabra/protocol'
import type { AclName, Part, Request } from '../client/request.ts'
import type { Random } from '../world/random.ts'

/** One action of a client at one moment. */
export interface WorkStep {
  readonly atMs: number
  readonly client: number
  readonly action:
    | { readonly kind: 'ask'; readonly requests: readonly Request[] }
    | { readonly kind: 'reconnect' | 'move' | 'abandon' }
}

export interface ProgramOptions {
  readonly clients: number
  readonly durationMs: number
  readonly steps: number
  /** The maximum size of data. */
  readonly dataBytesMax: number
  /** The number of nodes in the large directory; 0 without one. */
  readonly manyNodes: number
}

/** The trees that the clients share; containers and TTL nodes are in the last one. */
export const roots = ['/a', '/b', '/t'] as const
export const reclaimedRoot = '/t'

const largeDirectory = '/a/large'
const createdAtOnce = 25

/** The requests that fill the large directory. */
export function makeMany(nodes: number): Request[] {
  if (nodes === 0) return []
  const base = { op: 'create', kind: 'create', acl: 'open', flags: 0 } as const
  const requests: Request[] = [{ ...base, path: largeDirectory, data: '' }]
  for (let first = 0; first < nodes; first += createdAtOnce) {
    const parts = Array.from({ length: Math.min(createdAtOnce, nodes - first) }, (_, i): Part => {
      const n = first + i
      return { ...base, path: `${largeDirectory}/n${n}`, data: `${n}`.padEnd((n * 7) % 90, '.') }
    })
    requests.push({ op: 'multi', parts })
  }
  return requests
}

/** A random program over all operations, drawn in advance so that it can be shrunk. */
export function drawProgram(random: Random, options: ProgramOptions): WorkStep[] {
  const { clients, durationMs, steps } = options
  const draw = new Drawing(random, options)
  const program: WorkStep[] = []
  for (let i = 0; i < steps; i++) {
    const atMs = 200 + random.next() * durationMs
    const client = random.between(0, clients - 1)
    program.push({ atMs, client, action: draw.action() })
  }
  return program.toSorted((a, b) => a.atMs - b.atMs)
}

const opWeights = {
  create: 16,
  delete: 9,
  setData: 14,
  setACL: 2,
  multi: 6,
  exists: 6,
  getData: 10,
  getChildren: 4,
  getChildren2: 4,
  getACL: 1,
  sync: 4,
  multiRead: 2,
  getEphemerals: 1,
  getAllChildrenNumber: 1,
  whoAmI: 0.5,
  addWatch: 2,
  removeWatches: 1.5,
  checkWatches: 1,
  auth: 1,
  closeSession: 0.7,
} as const

class Drawing {
  private readonly random: Random
  private readonly dataBytesMax: number
  private readonly manyNodes: number
  private writes = 0

  constructor(random: Random, { dataBytesMax, manyNodes }: ProgramOptions) {
    this.random = random
    this.dataBytesMax = dataBytesMax
    this.manyNodes = manyNodes
  }

  action(): WorkStep['action'] {
    const kind = this.random.weighted({ ask: 92, reconnect: 2, move: 2, abandon: 1.5 })
    if (kind !== 'ask') return { kind }
    // Several at once: pipelined requests must see each other.
    const count = this.random.chance(0.4) ? this.random.between(2, 8) : 1
    return { kind, requests: Array.from({ length: count }, () => this.request()) }
  }

  private request(): Request {
    const { random } = this
    const op = random.weighted(opWeights)
    const watch = random.chance(0.5)
    const root = random.pick(roots)
    switch (op) {
      case 'create':
        return this.create(root)
      case 'delete':
        return { op, path: this.path(), version: this.version() }
      case 'setData':
        return { op, path: this.path(), data: this.data(), version: this.version() }
      case 'setACL':
        return { op, path: this.path(), acl: this.acl(), version: this.version() }
      case 'multi':
        return { op, parts: this.parts() }
      case 'multiRead':
        return {
          op,
          parts: (['getData', 'getChildren'] as const).map((part) => {
            return { op: part, path: this.pathBelow(root) }
          }),
        }
      case 'exists':
      case 'getData':
      case 'getChildren':
      case 'getChildren2':
        return { op, path: this.path(), watch }
      case 'getACL':
      case 'sync':
      case 'getAllChildrenNumber':
        return { op, path: this.path() }
      case 'getEphemerals':
        return { op, path: random.pick(['/', '/a', '/b/x1']) }
      case 'addWatch':
        return { op, path: this.path(), mode: random.pick(Object.values(addWatchModes)) }
      case 'removeWatches':
      case 'checkWatches':
        return { op, path: this.path(), type: random.pick(Object.values(watcherTypes)) }
      case 'auth':
        return { op, user: random.pick(['alice:secret', 'bob:secret']) }
      case 'whoAmI':
      case 'closeSession':
        return { op }
    }
  }

  private create(root: string): Extract<Part, { op: 'create' }> {
    const { random } = this
    const kind = random.pick(['create', 'create2'] as const)
    const base = { op: 'create', data: this.data(), acl: this.acl() } as const
    if (root === '/t') {
      const path = `/t/${random.pick(['c0', 'c1', 'c0/k', 'c1/k'])}`
      if (random.chance(0.4)) return { ...base, kind: 'createContainer', path, flags: 4 }
      if (random.chance(0.6)) {
        const ttlMs = random.between(1, 6000)
        return { ...base, kind: 'createTTL', path, flags: random.pick([5, 6]), ttlMs }
      }
      return { ...base, kind, path, flags: 0 }
    }
    const flags = random.pick([0, 0, 1, 2, 3])
    const isSequential = flags === 2 || flags === 3
    const path = isSequential
      ? `${random.pick([root, `${root}/x0`])}/${random.pick(['s-', 'q'])}`
      : this.pathBelow(root)
    return { ...base, kind, path, flags }
  }

  private parts(): Part[] {
    const { random } = this
    // Mostly within one tree, so that trees can be checked separately.
    const root = random.pick(roots)
    return Array.from({ length: random.between(1, 4) }, (): Part => {
      const isForeign = root !== reclaimedRoot && random.chance(0.02)
      const path = this.pathBelow(isForeign ? random.pick(['/a', '/b']) : root)
      const op = random.pick(['create', 'create', 'delete', 'setData', 'check'] as const)
      if (op === 'create') return this.create(root)
      if (op === 'setData') return { op, path, data: this.data(), version: this.version() }
      return { op, path, version: this.version() }
    })
  }

  private path(): string {
    return this.random.chance(0.05)
      ? this.random.pick(roots)
      : this.pathBelow(this.random.pick(roots))
  }

  private pathBelow(root: string): string {
    const { random } = this
    if (root === '/t') return `/t/${random.pick(['c0', 'c1', 'c0/k', 'c1/k'])}`
    if (root === '/a' && this.manyNodes > 0 && random.chance(0.6)) {
      return `${largeDirectory}/n${random.between(0, this.manyNodes)}`
    }
    const kind = random.weighted({ flat: 6, deep: 2, sequence: 2 })
    const flat = `${root}/x${random.between(0, 2)}`
    if (kind === 'flat') return flat
    if (kind === 'deep') return `${flat}/y`
    return `${root}/s-${String(random.between(0, 15)).padStart(10, '0')}`
  }

  private data(): string {
    const text = `v${this.writes++}`
    const { random } = this
    return random.chance(0.1) ? text.padEnd(random.between(0, this.dataBytesMax), '.') : text
  }

  private version(): number {
    return this.random.chance(0.7) ? -1 : this.random.between(0, 3)
  }

  private acl(): AclName {
    return this.random.weighted({ open: 90, readOnly: 4, alice: 4, auth: 3 })
  }
}
