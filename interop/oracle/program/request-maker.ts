import {
  acls,
  authentications,
  createFlagChoices,
  names,
  oddPaths,
  quotaTexts,
  ttlChoices,
  unknownOpcodes,
  versionChoices,
} from './ingredients.ts'
import { openAcl, programRoot, type AclEntry, type Profile, type Request } from './program.ts'
import type { RequestName, Value } from './program.ts'
import type { Random } from './random.ts'

const shortNames = names.slice(0, 3)
const sequential = (flags: number) => flags === 2 || flags === 3 || flags === 6
const ephemeral = (flags: number) => flags === 1 || flags === 3

/**
 * Makes random requests. It tracks which nodes probably exist, so that most requests find something
 * to act on; it cannot know, because a program is made before it is played.
 */
export class RequestMaker {
  readonly #random: Random
  readonly #profile: Profile
  /** Paths with the flags that the nodes were created with. */
  readonly #likely = new Map<string, number>([[programRoot, 0]])

  constructor(random: Random, profile: Profile) {
    this.#random = random
    this.#profile = profile
  }

  /** Records that a node exists. */
  expectNode(path: string): void {
    this.#likely.set(path, 0)
  }

  make(op: RequestName): Request {
    const random = this.#random
    switch (op) {
      case 'create':
      case 'create2': {
        const flags = random.pick(createFlagChoices)
        return { op, ...this.#creation(flags) }
      }
      case 'createContainer': {
        const flags = random.chance(0.9) ? 4 : random.pick(createFlagChoices)
        return { op, ...this.#creation(flags) }
      }
      case 'createTTL': {
        const flags = random.pick([5, 5, 6, 6, 0, 1, 4])
        const creation = this.#creation(flags)
        // With other flags and a TTL out of range, Apache 3.8.0 ends.
        const ttl = flags === 5 || flags === 6 ? random.pick(ttlChoices) : 100000
        return { op, ...creation, ttl: String(ttl) }
      }
      case 'delete': {
        const path = random.chance(0.7) ? this.#leaf() : this.#path()
        if (typeof path === 'string' && path !== programRoot) this.#likely.delete(path)
        return { op, path, version: this.#version() }
      }
      case 'check':
        return { op, path: this.#path(), version: this.#version() }
      case 'exists':
      case 'getData':
      case 'getChildren':
      case 'getChildren2':
        return { op, path: this.#path(), watch: random.chance(0.02) ? 2 : this.#watch() }
      case 'setData':
        return { op, path: this.#path(), data: this.#data(), version: this.#version() }
      case 'getACL':
      case 'sync':
      case 'getAllChildrenNumber':
      case 'getEphemerals':
      case 'deleteContainer':
        return { op, path: this.#path() }
      case 'setACL': {
        const path = this.#path()
        const acl = random.chance(0.5) ? random.pick(acls) : openAcl
        return { op, path, acl, version: this.#version() }
      }
      case 'checkWatches':
      case 'removeWatches':
        return { op, path: this.#path(), type: random.pick([1, 2, 3, 3, 0, 4, 9, -1]) }
      case 'addWatch':
        return { op, path: this.#path(), mode: random.pick([0, 1, 0, 1, 0, 1, 2, -1]) }
      case 'setWatches':
      case 'setWatches2': {
        const paths = () => Array.from({ length: random.int(4) }, () => this.#goodPath())
        return {
          op,
          relative: random.pick(['now', 'start', 'mid', 'zero', 'future']),
          data: paths(),
          exist: paths(),
          child: paths(),
          persistent: paths(),
          recursive: paths(),
        }
      }
      case 'multi': {
        const length = random.pick([0, 1, 1, 2, 2, 2, 3, 3, 4, 6])
        const ops = Array.from({ length }, () => this.#multiPart())
        return { op, ops, ...(random.chance(0.02) ? { noEnd: true } : {}) }
      }
      case 'multiRead': {
        const usual = ['getData', 'getChildren'] as const
        const foreign = ['exists', 'getChildren2', 'delete'] as const
        const part = () =>
          this.make(random.chance(0.93) ? random.pick(usual) : random.pick(foreign))
        return { op, ops: Array.from({ length: random.int(5) }, part) }
      }
      case 'reconfig':
        return {
          op,
          joining: random.pick([null, 'server.9=127.0.0.1:1:2:participant;3']),
          leaving: random.pick([null, '9']),
          members: null,
          config: String(random.pick([-1, 0])),
        }
      case 'auth':
        return { op, ...random.pick(authentications) }
      case 'sasl':
        return { op, token: random.pick(['', 'junk']) }
      case 'rawOp': {
        const opcode = random.pick(unknownOpcodes)
        const data = random.pick<Value>(['', { hex: '00000001' }, { hex: 'deadbeefdeadbeef' }])
        return { op, opcode, data }
      }
      case 'createSession':
        return { op, timeout: 20000 }
      default:
        return { op }
    }
  }

  #creation(flags: number): {
    path: Value
    data: Value
    acl: readonly AclEntry[] | null
    flags: number
  } {
    return { path: this.#newPath(flags), data: this.#data(), acl: this.#acl(), flags }
  }

  #multiPart(): Request {
    const op = this.#random.weighted({
      create: 8,
      create2: 3,
      delete: 5,
      setData: 6,
      check: 5,
      createContainer: 1,
      createTTL: 1,
      bad: 0.3,
    })
    if (op !== 'bad') return this.make(op)
    const foreign: Request[] = [
      { op: 'getData', path: this.#path(), watch: false },
      { op: 'rawOp', opcode: 77, data: '' },
      { op: 'sync', path: this.#path() },
    ]
    return this.#random.pick(foreign)
  }

  /** A legal path, with or without a node. */
  #goodPath(): string {
    const random = this.#random
    const kind = random.int(12)
    if (kind < 5) return `${programRoot}/${random.pick(shortNames)}`
    if (kind < 9) return `${programRoot}/${random.pick(shortNames)}/${random.pick(names)}`
    if (kind < 10) {
      const [a, b, c] = [0, 0, 0].map(() => random.pick(shortNames))
      return `${programRoot}/${a}/${b}/${c}`
    }
    if (kind < 11) {
      const parent = random.chance(0.5) ? `${random.pick(shortNames)}/` : ''
      return `${programRoot}/${parent}${this.#sequenceName()}`
    }
    return programRoot
  }

  /** A name that a sequential create may have produced. */
  #sequenceName(): string {
    const prefix = this.#random.pick(['s', 's-', ''])
    return prefix + String(this.#random.int(4)).padStart(10, '0')
  }

  /** Mostly the path of an existing node. */
  #path(): Value {
    const random = this.#random
    if (random.chance(this.#oddRate)) return random.pick(oddPaths(programRoot))
    if (this.#profile === 'quota' && random.chance(0.2)) return this.#quotaPath()
    return random.chance(0.8) ? random.pick([...this.#likely.keys()]) : this.#goodPath()
  }

  /** Mostly the path of a missing node below an existing one. */
  #newPath(flags: number): Value {
    const random = this.#random
    if (random.chance(this.#oddRate)) return random.pick(oddPaths(programRoot))
    if (this.#profile === 'quota' && random.chance(0.2)) return this.#quotaPath()
    if (random.chance(0.2)) return this.#goodPath()
    const parents = [...this.#likely]
      .filter(([, created]) => !ephemeral(created) || random.chance(0.1))
      .map(([path]) => path)
      .filter((path) => path.split('/').length < 5)
    const parent = random.pick(parents.length > 0 ? parents : [programRoot])
    const name = random.pick(sequential(flags) ? ['s', 's-', ''] : names)
    const path = `${parent}/${name}`
    if ([0, 1, 4, 5].includes(flags) && name !== '' && random.chance(0.85)) {
      this.#likely.set(path, flags)
    }
    return path
  }

  #leaf(): string {
    const paths = [...this.#likely.keys()]
    const isLeaf = (path: string) => !paths.some((other) => other.startsWith(`${path}/`))
    const leaves = paths.filter((path) => path !== programRoot && isLeaf(path))
    return leaves.length > 0 ? this.#random.pick(leaves) : this.#goodPath()
  }

  #quotaPath(): string {
    const below = ['', '/a', '/a/zookeeper_limits', '/a/zookeeper_stats']
    const tail = this.#random.pick([...below, '/zookeeper_limits', '/b/zookeeper_limits'])
    return `/zookeeper/quota${programRoot}${tail}`
  }

  #data(): Value {
    const random = this.#random
    const kind = random.int(30)
    if (kind === 0) return null
    if (kind === 1) return ''
    if (kind === 2) return { n: 100 + random.int(3000), fill: random.int(256) }
    if (kind === 3) return { hex: 'ff00fe' }
    if (kind === 4 && random.chance(0.2)) return { n: 900000, fill: 7 }
    if (this.#profile === 'quota' && kind < 12) return random.pick(quotaTexts)
    return `d${random.int(1000)}`
  }

  #acl(): readonly AclEntry[] | null {
    if (this.#profile === 'acl' || this.#random.chance(0.12)) return this.#random.pick(acls)
    return openAcl
  }

  #version(): number {
    return this.#random.pick(versionChoices)
  }

  #watch(): boolean {
    return this.#random.chance(this.#profile === 'watches' ? 0.7 : 0.35)
  }

  get #oddRate(): number {
    return this.#profile === 'malformed' ? 0.2 : 0.02
  }
}
