import { Program } from '../../interop/clients/program.ts'
import { usageOf, withDescendants } from '../proc.ts'
import type { Contestant } from './contestants.ts'

const answerMsMax = 60_000

export type Operation = 'get' | 'set' | 'create'

export interface Load {
  readonly operation: Operation
  /** The number of requests in flight; with 1, each waits for the previous reply. */
  readonly window: number
  readonly seconds: number
  /** Makes names unique, so that no two rounds create the same names. */
  readonly round: string
}

export interface LoadFigures {
  readonly ops: number
  readonly opsPerS: number
  readonly cpuUsPerOp: number
}

export interface Memory {
  readonly residentMb: number
  /** The live bytes of the runtime; NaN if it does not tell. */
  readonly liveMb: number
}

/** A client in a separate process that executes commands, line by line. */
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

  /** Watches one node; resolves when the watch is set. */
  async arm(path: string): Promise<void> {
    this.#program.tell(`arm ${path}`)
    await this.#hear('armed')
  }

  /** Watches the numbered children of a node. */
  async watchChildren(path: string, count: number): Promise<void> {
    this.#program.tell(`watches ${path} ${count}`)
    await this.#hear('armed')
  }

  /** When the last of the requested watches was called, on the clock of `process.hrtime`. */
  async firedAtNs(): Promise<bigint> {
    const [ns = ''] = await this.#hear('fired')
    return BigInt(ns)
  }

  /** Measured after a garbage collection. */
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
