import { connect, type Client } from '@zabra/client'
import { Program } from '../clients/program.ts'
import type { Player, Troupe } from './troupe.ts'

const answerMsMax = 60_000

/** One server with the programs that contend on it, and a client that observes. */
export class Stage implements AsyncDisposable {
  readonly client: Client
  readonly #address: string
  readonly #troupe: Troupe
  readonly #running = new Map<Player, Promise<Contender>>()

  private constructor(client: Client, address: string, troupe: Troupe) {
    this.client = client
    this.#address = address
    this.#troupe = troupe
  }

  static async open(address: string, troupe: Troupe): Promise<Stage> {
    return new Stage(await connect(address), address, troupe)
  }

  /** A hand of one player's program, which is started if it is not running. */
  async hand(player: Player, name: string): Promise<Hand> {
    let contender = this.#running.get(player)
    if (contender === undefined) {
      contender = this.#start(player)
      this.#running.set(player, contender)
    }
    return new Hand(await contender, `${player}-${name}`)
  }

  /** Kills a program. */
  async kill(player: Player): Promise<void> {
    const contender = this.#running.get(player)
    this.#running.delete(player)
    await (await contender)?.kill()
  }

  /** A program that failed may still wait for something: the next scenario gets new ones. */
  async clear(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((player) => this.kill(player)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clear()
    await this.client.close()
  }

  async #start(player: Player): Promise<Contender> {
    const command = this.#troupe[player]
    if ('missing' in command) throw new Error(`${player}: ${command.missing}`)
    return Contender.start(player, [...command, this.#address])
  }
}

/** One of the parallel tasks of a program. */
export class Hand {
  readonly name: string
  readonly #contender: Contender

  constructor(contender: Contender, name: string) {
    this.#contender = contender
    this.name = name
  }

  tell(...words: readonly (string | number)[]): void {
    this.#contender.tell(`${this.name} ${words.join(' ')}`)
  }

  /** The rest of the next line of this hand, which must begin with the word. */
  async hear(word: string): Promise<readonly string[]> {
    const [first, ...rest] = await this.next()
    if (first !== word)
      throw new Error(`${this.name} said '${[first, ...rest].join(' ')}' and not ${word}`)
    return rest
  }

  next(): Promise<readonly string[]> {
    return this.#contender.nextFor(this.name)
  }

  /** Whether there is a line that nobody has read yet. */
  get hasSpoken(): boolean {
    return this.#contender.hasLineFor(this.name)
  }
}

/** A program, with its output sorted by hand. */
class Contender {
  readonly #player: Player
  readonly #program: Program
  readonly #heard = new Map<string, (readonly string[])[]>()
  readonly #waiting = new Map<string, (words: readonly string[]) => void>()
  #end: string | undefined

  private constructor(player: Player, program: Program) {
    this.#player = player
    this.#program = program
  }

  static async start(player: Player, command: readonly string[]): Promise<Contender> {
    const contender = new Contender(player, new Program(command))
    void contender.#listen()
    await contender.nextFor('ready')
    return contender
  }

  tell(line: string): void {
    this.#program.tell(line)
  }

  hasLineFor(hand: string): boolean {
    return (this.#heard.get(hand)?.length ?? 0) > 0
  }

  nextFor(hand: string): Promise<readonly string[]> {
    const words = this.#heard.get(hand)?.shift()
    if (words !== undefined) return Promise.resolve(words)
    if (this.#end !== undefined) return Promise.reject(new Error(this.#end))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(hand)
        reject(new Error(`${hand} said nothing for ${answerMsMax} ms`))
      }, answerMsMax)
      this.#waiting.set(hand, (heard) => {
        clearTimeout(timer)
        this.#waiting.delete(hand)
        if (this.#end === undefined) resolve(heard)
        else reject(new Error(this.#end))
      })
    })
  }

  async kill(): Promise<void> {
    this.#program.signal('SIGKILL')
    await this.#program.end()
  }

  async #listen(): Promise<void> {
    for (;;) {
      const line = await this.#program.nextLine(lifeMsMax)
      if (line === undefined) break
      const [hand = '', ...words] = line.split(' ')
      const waiter = this.#waiting.get(hand)
      if (waiter !== undefined) waiter(words)
      else this.#heard.set(hand, [...(this.#heard.get(hand) ?? []), words])
    }
    this.#end = `the program of ${this.#player} is over: ${this.#program.ending}`
    for (const waiter of this.#waiting.values()) waiter([])
  }
}

const lifeMsMax = 1_800_000
