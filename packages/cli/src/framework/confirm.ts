import { createInterface } from 'node:readline/promises'
import { UsageError } from './errors.ts'
import type { Io } from './io.ts'

/** Asks a question that is answered with yes or no; no by default. */
export async function confirm(
  io: Io,
  question: string,
  flag: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true)
    throw new UsageError(`${question} needs an answer, and this is no terminal`, `${flag} says yes`)
  const reader = createInterface({ input: io.stdin, output: io.stderr })
  let isAnswered = false
  try {
    const answer = await reader.question(`${question} [y/N] `, { signal })
    isAnswered = true
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    reader.close()
    // Ctrl-C and Ctrl-D leave the cursor behind the question.
    if (!isAnswered) io.stderr.write('\n')
  }
}
