/**
 * Our recipes, held and given back as the harness says. It is started as `PROGRAM HOST:PORT`, says
 * `ready`, and then gets lines with commands for each of its hands:
 *
 *     HAND acquire KIND PATH                  HAND held NS
 *     HAND release                            HAND released NS          NS: before it begins to
 *     HAND turns KIND PATH COUNT LEDGER       HAND turn NS NS           each: entered, about to leave
 *                                             HAND done
 *     HAND enter PATH MEMBERS, HAND leave     HAND entered NS NS, HAND left NS NS     asked, done
 *     HAND raise PATH, HAND lower PATH        HAND raised, HAND lowered NS
 *     HAND pass PATH                          HAND passed NS
 *     HAND hold PATH                          HAND held NS, HAND asked, HAND released NS
 *     HAND revoke PATH                        HAND held NS              the holder was asked
 *     HAND count LAYOUT PATH TIMES            HAND counted NUMBER       after the last time
 *     HAND put PATH COUNT                     HAND done
 *     HAND consume PATH COUNT                 HAND item VALUE           each; then HAND done
 *     HAND take PATH                          HAND item VALUE           and keeps it
 *     HAND enqueue delay|id PATH VALUE DUE-MS|ID      HAND done
 *     HAND drain delay|id PATH                HAND item VALUE MS        each, until HAND stop: HAND stopped
 *     HAND grab delay|id PATH                 HAND item VALUE MS        and keeps it
 *     HAND remove PATH ID                     HAND removed COUNT        from an id queue
 *     HAND join PATH NAME DATA                HAND joined
 *     HAND members PATH COUNT                 HAND members NAME=DATA... once there are so many
 *     HAND offer BASE NAME ID PORT            HAND offered
 *     HAND discover BASE NAME COUNT           HAND found ID:PORT...     once there are so many
 *
 * KIND is lock, multi (two locks below the path), read, write, latch or semaphore:PERMITS. Times are of the clock that all processes
 * of a machine share. What goes wrong is said as `HAND failed WHY`.
 */
import { createInterface } from 'node:readline'
import { connect, text, type Client } from '@zabra/client'
import {
  Barrier,
  DoubleBarrier,
  Election,
  Lock,
  MultiLock,
  ReadWriteLock,
  RevocableLock,
  Semaphore,
  type Held,
  type Inside,
} from '@zabra/recipes'
import { Queuer } from './queuer.ts'
import { share } from './sharer.ts'

const sessionTimeoutMs = 3000
const timeoutMs = 60_000
const [server = ''] = process.argv.slice(2)
const client = await connect(server, { sessionTimeoutMs })

class Hand {
  readonly #name: string
  readonly #queuer: Queuer
  #held: Held | undefined
  #inside: Inside | undefined
  /** One wish after another. */
  #last: Promise<void> = Promise.resolve()

  constructor(name: string) {
    this.#name = name
    this.#queuer = new Queuer(client, (what) => this.#tell(what))
  }

  wish(words: readonly string[]): void {
    this.#last = this.#last.then(async () => {
      try {
        await this.#fulfil(words)
      } catch (error) {
        this.#tell(`failed ${String(error).replaceAll('\n', ' ')}`)
      }
    })
  }

  async #fulfil([wish = '', ...args]: readonly string[]): Promise<void> {
    const askedAtNs = now()
    switch (wish) {
      case 'acquire':
        this.#held = await acquire(client, args[0]!, args[1]!)
        return this.#tell(`held ${now()}`)
      case 'release':
        await this.#held!.release()
        return this.#tell(`released ${askedAtNs}`)
      case 'turns':
        for (let left = Number(args[2]); left > 0; left--)
          await this.#turn(args[0]!, args[1]!, args[3]!)
        return this.#tell('done')
      case 'enter':
        this.#inside = await new DoubleBarrier(client, args[0]!, Number(args[1])).enter({
          timeoutMs,
        })
        return this.#tell(`entered ${askedAtNs} ${now()}`)
      case 'leave':
        await this.#inside!.leave({ timeoutMs })
        return this.#tell(`left ${askedAtNs} ${now()}`)
      case 'hold': {
        const onAsked = (): void => {
          this.#tell('asked')
          this.wish(['release'])
        }
        this.#held = await new RevocableLock(client, args[0]!).write.acquire({ timeoutMs, onAsked })
        return this.#tell(`held ${now()}`)
      }
      case 'revoke': {
        const options = { timeoutMs, revoke: true }
        this.#held = await new RevocableLock(client, args[0]!).write.acquire(options)
        return this.#tell(`held ${now()}`)
      }
      case 'raise':
        await new Barrier(client, args[0]!).raise()
        return this.#tell('raised')
      case 'lower':
        await new Barrier(client, args[0]!).lower()
        return this.#tell(`lowered ${askedAtNs}`)
      case 'pass':
        await new Barrier(client, args[0]!).wait({ timeoutMs })
        return this.#tell(`passed ${now()}`)
      default:
        if (await this.#queuer.fulfill([wish, ...args])) return
        await share(client, this.#name, [wish, ...args], (what) => this.#tell(what))
    }
  }

  async #turn(kind: string, path: string, ledger: string): Promise<void> {
    const held = await acquire(client, kind, path)
    const enteredNs = now()
    await write(kind, ledger, this.#name)
    const leftNs = now()
    await held.release()
    this.#tell(`turn ${enteredNs} ${leftNs}`)
  }

  #tell(what: string): void {
    say(`${this.#name} ${what}`)
  }
}

function acquire(from: Client, kind: string, path: string): Promise<Held> {
  const [name, permits] = kind.split(':')
  switch (name) {
    case 'lock':
      return new Lock(from, path).acquire({ timeoutMs })
    case 'multi':
      return new MultiLock(from, [`${path}/b`, `${path}/a`]).acquire({ timeoutMs })
    case 'read':
      return new ReadWriteLock(from, path).read.acquire({ timeoutMs })
    case 'write':
      return new ReadWriteLock(from, path).write.acquire({ timeoutMs })
    case 'semaphore':
      return new Semaphore(from, path, Number(permits)).acquire({ timeoutMs })
    case 'latch':
      return new Election(from, path).campaign({ timeoutMs })
    default:
      throw new Error(`what is a ${kind}?`)
  }
}

/** The ledger is written by compare and set, which only goes wrong where two are in at once. */
async function write(kind: string, ledger: string, name: string): Promise<void> {
  if (kind.startsWith('semaphore')) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return
  }
  const { data, stat } = await client.get(ledger, { codec: text })
  if (data !== 'free') throw new Error(`VIOLATION: ${data} is in, too`)
  if (kind === 'read') {
    const after = await client.exists(ledger)
    if (after?.version !== stat.version) throw new Error('VIOLATION: a writer beside a reader')
    return
  }
  const { version } = await client.set(ledger, name, { ifVersion: stat.version })
  await client.set(ledger, 'free', { ifVersion: version })
}

function now(): bigint {
  return process.hrtime.bigint()
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

const hands = new Map<string, Hand>()
say('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const [name = '', ...words] = line.split(' ')
  const hand = hands.get(name) ?? new Hand(name)
  hands.set(name, hand)
  hand.wish(words)
}
await client.close()
