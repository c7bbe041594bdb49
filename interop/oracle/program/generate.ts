import { fourLetterWords, oddFrames, oddTimeouts, requestWeights } from './ingredients.ts'
import { openAcl, programRoot } from './program.ts'
import type { Connect, Handshake, Profile, Program, Request, RequestName, Step } from './program.ts'
import { Random } from './random.ts'
import { RequestMaker } from './request-maker.ts'

export interface GenerateOptions {
  readonly profile?: Profile | undefined
  readonly steps?: number | undefined
  /** Programs for an ensemble leave out requests that Apache's followers never answer. */
  readonly ensemble: boolean
  readonly restart: boolean
  readonly fourLetterWords: boolean
  readonly quota: boolean
  /** Apache 3.8.0 cannot restart after a stand-alone `check` that succeeded. */
  readonly check: boolean
}

const sessionCount = 4
/**
 * Their reply ends the connection, or what follows depends on timing; bursts do not contain them.
 */
const notInBursts = new Set<RequestName>(['auth', 'sasl', 'rawOp', 'ping', 'setACL', 'check'])

/** The program of a seed, always the same for the same options. */
export function generate(seed: number, options: GenerateOptions): Program {
  const random = new Random(seed)
  const profile = options.profile ?? random.weighted(profileWeights(options))
  const length = options.steps ?? 40 + random.int(80)
  return new Generator(random, profile, options).program(seed, length)
}

function profileWeights({ ensemble, quota }: GenerateOptions): Record<Profile, number> {
  return {
    general: 30,
    watches: 20,
    multi: 12,
    acl: 12,
    session: 14,
    malformed: ensemble ? 0 : 12,
    quota: quota ? 6 : 0,
  }
}

class Generator {
  readonly #random: Random
  readonly #profile: Profile
  readonly #options: GenerateOptions
  readonly #maker: RequestMaker
  readonly #requestWeights: Record<RequestName, number>
  readonly #stepWeights
  readonly #steps: Step[] = []

  constructor(random: Random, profile: Profile, options: GenerateOptions) {
    this.#random = random
    this.#profile = profile
    this.#options = options
    this.#maker = new RequestMaker(random, profile)
    const weights = { ...requestWeights[profile] } as Record<RequestName, number>
    if (!options.check) weights.check = 0
    this.#requestWeights = weights
    this.#stepWeights = {
      op: 100,
      burst: profile === 'multi' ? 4 : 8,
      session: profile === 'session' ? 22 : 4,
      raw: profile === 'malformed' ? 2 : 0.2,
      expire: profile === 'session' ? 0.6 : 0.05,
      restart: options.restart ? 0.3 : 0,
      flw: options.fourLetterWords ? 2 : 0,
    }
  }

  program(seed: number, length: number): Program {
    this.#begin()
    while (this.#steps.length < length) {
      this.#addStep(this.#random.int(sessionCount))
      // A dead session is opened again soon.
      if (this.#random.chance(0.12)) {
        this.#steps.push({ do: 'revive', session: this.#random.int(sessionCount) })
      }
    }
    return { seed, profile: this.#profile, steps: this.#steps }
  }

  /** Sessions, and a few nodes to begin with. */
  #begin(): void {
    const createOpen = (path: string, data: string): Request => {
      return { op: 'create', path, data, acl: openAcl, flags: 0 }
    }
    const op = (request: Request): Step => ({ do: 'op', session: 0, request })
    for (let session = 0; session < sessionCount; session++) {
      this.#steps.push(this.#connect(session, 'new'))
    }
    this.#steps.push(op(createOpen(programRoot, 'root')))
    const some = ['/a', '/b', '/c', '/a/a', '/a/b', '/b/a'].slice(0, 2 + this.#random.int(5))
    const paths = some.map((path) => programRoot + path)
    const requests = paths.map((path) => createOpen(path, 'i'))
    this.#steps.push({ do: 'burst', session: 0, requests })
    for (const path of paths) this.#maker.expectNode(path)
    if (this.#profile !== 'quota') return
    for (const tail of ['', '/a']) {
      this.#steps.push(op(createOpen(`/zookeeper/quota${programRoot}${tail}`, '')))
    }
  }

  #addStep(session: number): void {
    const random = this.#random
    switch (random.weighted(this.#stepWeights)) {
      case 'op':
        this.#steps.push({ do: 'op', session, request: this.#request() })
        break
      case 'burst': {
        const length = 2 + random.int(6)
        const requests = Array.from({ length }, () => this.#burstRequest())
        this.#steps.push({ do: 'burst', session, requests })
        break
      }
      case 'session':
        this.#addSessionSteps(session)
        break
      case 'raw':
        this.#steps.push({ do: 'raw', session, hex: random.pick(oddFrames) })
        break
      // These two take seconds, so one of each is enough.
      case 'expire':
        this.#stepWeights.expire = 0
        this.#steps.push({ do: 'expire', session })
        break
      case 'restart':
        this.#stepWeights.restart = 0
        this.#steps.push({ do: 'restart', hard: random.chance(0.5) })
        break
      case 'flw':
        this.#steps.push({ do: 'flw', word: random.pick(fourLetterWords) })
        break
    }
  }

  #addSessionSteps(session: number): void {
    const random = this.#random
    const close: Step = { do: 'op', session, request: { op: 'closeSession' } }
    const drop: Step = { do: 'drop', session }
    const kinds = { reconnect: 6, steal: 3, close: 3, drop: 3, odd: 3, again: 3 }
    switch (random.weighted(kinds)) {
      case 'reconnect': {
        const how = random.pick(['same', 'same', 'same', 'badpw', 'future'] as const)
        this.#steps.push(drop, this.#connect(session, how))
        break
      }
      case 'steal':
        this.#steps.push(this.#connect(session, 'same'))
        break
      case 'close':
        this.#steps.push(close, this.#connect(session, random.pick(['new', 'same', 'new'])))
        break
      case 'drop':
        this.#steps.push(drop)
        break
      case 'odd':
        // Closed at once, because its timeout may be short.
        this.#steps.push(this.#oddConnect(session), close, this.#connect(session, 'new'))
        break
      case 'again':
        this.#steps.push(this.#connect(session, 'new'))
        break
    }
  }

  #connect(session: number, how: Handshake): Connect {
    const timeout = this.#random.pick([20000, 20000, 20000, 15000, 2147483647])
    const ro = this.#random.pick([0, 0, 0, 1, undefined])
    return { do: 'connect', session, how, timeout, ro }
  }

  #oddConnect(session: number): Connect {
    const random = this.#random
    const usual = ['new', 'new', 'bogus', 'badpw', 'future', 'short', 'nullpw', 'longpw'] as const
    const plain = this.#connect(session, random.pick(usual))
    return { ...plain, timeout: random.pick(oddTimeouts), proto: random.pick([0, 0, 1, -1]) }
  }

  #request(): Request {
    const random = this.#random
    const request = this.#maker.make(random.weighted(this.#requestWeights))
    if (this.#options.ensemble) return request
    if (this.#profile !== 'malformed' && !random.chance(0.01)) return request
    const isMulti = request.op === 'multi' || request.op === 'multiRead'
    if (random.chance(0.12) && !isMulti) return { ...request, cut: 1 + random.int(12) }
    if (random.chance(0.08)) return { ...request, extra: '00'.repeat(1 + random.int(9)) }
    return request
  }

  #burstRequest(): Request {
    for (;;) {
      const request = this.#request()
      const isOrdinary = !notInBursts.has(request.op) && request.cut === undefined
      if (isOrdinary && !isTornMulti(request)) return request
    }
  }
}

/**
 * A multi with an invalid part. Apache fails it as a whole and does not undo what the earlier parts
 * planned, so the next request may or may not find their changes.
 */
function isTornMulti(request: Request): boolean {
  if (request.op !== 'multi') return false
  return request.ops.some((part) => {
    if ('path' in part && part.path === null) return true
    if (!('flags' in part)) return false
    const isTtl = part.flags === 5 || part.flags === 6
    return part.flags < 0 || part.flags > 6 || (isTtl && part.op !== 'createTTL')
  })
}
