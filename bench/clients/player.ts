import { Program } from '../../interop/clients/program.ts'
import { usageOf, withDescendants } from '../proc.ts'
import type { Contestant } from './contestants.ts'

const answerMsMax = 60_000

export type Operation = 'get' | 'set' | 'create'

export interface Load {
  readonly operation: Operation
  /** Requests on their way at any time; with one, each waits for the reply to the last. */
  readonly window: number
  readonly seconds: number
  /** Names made in one round are not made again in the next. */
  readonly round: string
}

export interface LoadFigures {
  readonly ops: number
  readonly opsPerS: number
  readonly cpuUsPerOp: number
}

export interface Memory {
  readonly residentMb: number
  /** What the run-time counts as alive; NaN where it cannot tell. */
  readonly liveMb: number
}

/** A client in a process of its own that does what it is told, line by line. */
export class Player {
  readonly name: string
  readonly #program: Program

  private constructor(name: string, program: Program) {
    this.name = name
    this.#program = program
  }

  static async start({ name, command }: Contestant, address: string, root: string) {
    const player = new Player(name, new Program([...command, address, root]))
    await player.#hear('ready')
    return player
  }

  async load({ operation, window, seconds, round }: Load): Promise<LoadFigures> {
    const cpuBefore = this.#usage.cpuS
    this.#program.tell(`load ${operation} ${window} ${seconds} ${round}`)
    const [count, ns] = await this.#hear('done')
    const ops = Number(count)
    const cpuS = this.#usage.cpuS - cpuBefore
    return { ops, opsPerS: (ops * 1e9) / Number(ns), cpuUsPerOp: (cpuS * 1e6) / ops }
  }

  /** Watches one node; resolves when that is so. */
  async arm(path: string): Promise<void> {
    this.#program.tell(`arm ${path}`)
    await this.#hear('armed')
  }

  /** Watches the children of a node, named by their number. */
  async watchChildren(path: string, count: number): Promise<void> {
    this.#program.tell(`watches ${path} ${count}`)
    await this.#hear('armed')
  }

  /** When the last watch that was asked for was called, on the clock of `process.hrtime`. */
  async firedAtNs(): Promise<bigint> {
    const [ns = ''] = await this.#hear('fired')
    return BigInt(ns)
  }

  /** After a collection. */
  async memory(): Promise<Memory> {
    this.#program.tell('settle')
    const [liveBytes] = await this.#hear('settled')
    return { residentMb: this.#usage.rssMb, liveMb: Number(liveBytes) / (1 << 20) }
  }

  async end(): Promise<void> {
    await this.#program.end()
  }

  get #usage() {
    const { pid } = this.#program
    return usageOf(pid === undefined ? [] : withDescendants([pid]))
  }

  async #hear(wanted: string): Promise<readonly string[]> {
    const line = await this.#program.nextLine(answerMsMax)
    if (line === undefined)
      throw new Error(`${this.name} never said ${wanted}: ${this.#program.ending}`)
    const [word, ...rest] = line.split(' ')
    if (word !== wanted) throw new Error(`${this.name} said '${line}' and not ${wanted}`)
    return rest
  }
}
