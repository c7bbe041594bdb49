import type { Comparison, Verdict } from './compare.ts'
import { kindOf } from './difference.ts'
import type { Program } from './program/program.ts'

export interface ShrinkLimits {
  readonly triesMax: number
  readonly timeMs: number
}

/** Leaves out ever smaller groups of steps, as long as the same kind of difference remains. */
export async function shrink(
  comparison: Comparison,
  program: Program,
  kind: string,
  limits: ShrinkLimits,
): Promise<Program> {
  const deadline = Date.now() + limits.timeMs
  let tries = 0
  const stillDiffers = async (steps: Program['steps']): Promise<boolean> => {
    if (steps.length === 0 || tries++ >= limits.triesMax || Date.now() > deadline) return false
    return hasKind(await comparison.judge({ ...program, steps }), kind)
  }
  let best = program.steps
  for (const size of groupSizes(best.length)) {
    for (let at = best.length - size; at >= 0; at -= size) {
      const fewer = best.toSpliced(at, size)
      if (await stillDiffers(fewer)) best = fewer
    }
  }
  return { ...program, steps: best }
}

export function hasKind({ difference }: Verdict, kind: string): boolean {
  return difference !== undefined && kindOf(difference) === kind
}

/** Half, a quarter, and so on down to 1. */
function groupSizes(length: number): number[] {
  const sizes: number[] = []
  for (let size = Math.ceil(length / 2); size > 1; size = Math.ceil(size / 2)) sizes.push(size)
  return [...sizes, 1]
}
