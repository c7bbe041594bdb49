import { AsyncLocalStorage } from 'node:async_hooks'
import type { Host } from '@zabra/client/internal'

/** Replaces Node's clocks, timers and randomness for the code of a simulated program. */
export interface VirtualProcess {
  readonly name: string
  /** The host of clients that the program creates. */
  readonly host: Host
  /** Time on a monotonic clock. */
  nowMs(): number
  /** Milliseconds since 1970. */
  wallMs(): number
  /** A number of at least 0 and less than 1. */
  random(): number
  /** Calls back once after this time; returns a function that cancels it. */
  timer(ms: number, callback: () => void): () => void
  /** The program writes something to the console. */
  say(text: string): void
  /** The program does something that cannot be simulated; returns the error for it. */
  refuse(what: string): Error
  /** A promise of the program was rejected, and nobody handles it. */
  rejectedUnhandled(reason: unknown): void
}

const running = new AsyncLocalStorage<VirtualProcess>()

/** Runs the code of a program; what it starts and awaits belongs to the program, too. */
export function runAs(program: VirtualProcess, work: () => void): void {
  running.run(program, work)
}

/** The program whose code runs; undefined for all other code of this process. */
export function currentProgram(): VirtualProcess | undefined {
  return running.getStore()
}
