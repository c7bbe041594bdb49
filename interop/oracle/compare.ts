import { same, type Difference } from './difference.ts'
import { explain } from './expected.ts'
import { play } from './play/play.ts'
import type { PlayOptions } from './play/stage.ts'
import { rankZxids, type StepResult, type Transcript } from './play/transcript.ts'
import type { Program } from './program/program.ts'
import { explainByRelease, level, type ReleaseDifference } from './releases/index.ts'
import type { Side } from './side.ts'

export interface Verdict {
  /** The program as it was played last, without the requests that cause expected divergences. */
  readonly program: Program
  /** Undefined if both sides agree. */
  readonly difference?: Difference
  /** Names of the expected divergences that occurred. */
  readonly expected: readonly string[]
  /** Why the program could not be played to its end. */
  readonly broken?: string
  /** Sides that have stopped serving, unless that is an expected divergence. */
  readonly ended: { readonly reference: boolean; readonly candidate: boolean }
  readonly reference: Transcript
}

export interface CompareOptions extends Omit<PlayOptions, 'root' | 'settleMs' | 'deadline'> {
  /** The differences between releases, if reference and candidate are of different ones. */
  readonly releaseDifferences: readonly ReleaseDifference[]
}

const playMs = 180_000

/** Plays programs on both sides at once. */
export class Comparison {
  readonly #reference: Side
  readonly #candidate: Side
  readonly #options: CompareOptions
  #playCount = 0

  constructor(reference: Side, candidate: Side, options: CompareOptions) {
    this.#reference = reference
    this.#candidate = candidate
    this.#options = options
  }

  /**
   * Plays a program, and plays it again without the causes of expected divergences until none is
   * left.
   */
  async judge(program: Program, settleMs = 0): Promise<Verdict> {
    const expected: string[] = []
    for (let current = program; ;) {
      const { verdict, rest } = await this.#round(current, settleMs)
      expected.push(...verdict.expected)
      const { reference, candidate } = verdict.ended
      if (rest === undefined || candidate) return { ...verdict, expected }
      // Where zabra differs from Apache on purpose, Apache often ends.
      if (reference) await this.startFresh()
      current = rest
    }
  }

  async startFresh(): Promise<void> {
    await Promise.all([this.#reference.startFresh(), this.#candidate.startFresh()])
  }

  /**
   * Plays once on each side; `rest` is what to play next if an expected divergence left a trace.
   */
  async #round(program: Program, settleMs: number): Promise<{ verdict: Verdict; rest?: Program }> {
    const root = `/zo${process.pid}x${++this.#playCount}`
    const deadline = Date.now() + playMs
    const { releaseDifferences, ...playOptions } = this.#options
    const options = { ...playOptions, root, settleMs, deadline }
    const [older, newer] = await Promise.all([
      play(program, this.#reference, options),
      play(program, this.#candidate, options),
    ])
    const levelled = level(releaseDifferences, program, older, newer)
    const reference = rankZxids(levelled.older, options.zxid)
    const candidate = rankZxids(levelled.newer, options.zxid)
    const ended = {
      reference: !(await this.#reference.serving()),
      candidate: !(await this.#candidate.serving()),
    }
    const expected: string[] = []
    const verdict = { program, expected, ended, reference, ...brokenReason(reference, candidate) }
    const length = Math.max(reference.length, candidate.length)
    for (let at = 0; at < length; at++) {
      if (same(reference[at], candidate[at])) continue
      const step = program.steps[at]
      const entry = explain(step, reference[at], candidate[at])
      if (entry === undefined) {
        const results = [reference[at], candidate[at]] as const
        const release = explainByRelease(releaseDifferences, program, at, ...results)
        if (release !== undefined) {
          expected.push(release.name)
          return { verdict, rest: release.rest }
        }
        return { verdict: { ...verdict, difference: { program, at, reference, candidate } } }
      }
      expected.push(entry.name)
      if (entry.without === undefined || step === undefined) continue
      const left = entry.without(step)
      const steps = program.steps.toSpliced(at, 1, ...(left === undefined ? [] : [left]))
      return { verdict, rest: { ...program, steps } }
    }
    // Counted in the last round only, because earlier rounds played the same steps.
    expected.push(...levelled.seen)
    return { verdict }
  }
}

function brokenReason(reference: Transcript, candidate: Transcript): { broken?: string } {
  const reasonIn = (side: string, transcript: Transcript) =>
    transcript
      .filter((result): result is StepResult & { playerError: string } => 'playerError' in result)
      .map((result) => `${side}: ${result.playerError}`)
  const reasons = [...reasonIn('reference', reference), ...reasonIn('candidate', candidate)]
  return reasons.length === 0 ? {} : { broken: reasons.join(' | ') }
}
