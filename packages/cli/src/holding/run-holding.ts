import type { Client } from '@zabra/client'
import type { Held } from '@zabra/recipes'
import { CommandError } from '../framework/errors.ts'
import type { Invocation } from '../framework/invocation.ts'
import { Program } from './program.ts'

export interface Holding {
  /** `the lock /locks/report`, for messages. */
  readonly what: string
  readonly held: Held
  readonly client: Client
  readonly env: Readonly<Record<string, string>>
  /** How long before the right may be gone the program is asked to end. */
  readonly graceMs: number
}

export const defaultGraceMs = 5000
const checkMs = 100

/** An exit code, or that the right was lost before the program ended. */
export type Ending = { readonly code: number } | { readonly lost: true }

/**
 * Runs a program while a right is held. A lost connection does not end it as long as the session
 * lives. When the session is about to expire, the program gets SIGTERM, and SIGKILL the moment the
 * right may be another's.
 */
export async function runHolding(
  { program: words, io, signal, out, handOver }: Invocation,
  { what, held, client, env, graceMs }: Holding,
): Promise<Ending> {
  return handOver(async () => {
    const program = new Program(words, io, env)
    let isWarned = false
    let isLost = false
    const warn = (): void => {
      if (isWarned) return
      isWarned = true
      out.warn(`${what} is about to be lost: the program is asked to end`)
      program.signal('SIGTERM')
    }
    const kill = (): void => {
      isLost = true
      program.signal('SIGKILL')
    }
    // The terminal sends Ctrl-C to the program, too. SIGTERM came to this process only.
    const interrupt = (): void => program.signal('SIGTERM')
    const timer = setInterval(() => {
      if (!held.signal.aborted && held.deadlineMs - client.nowMs() < graceMs) warn()
    }, checkMs)
    held.signal.addEventListener('abort', kill)
    signal.addEventListener('abort', interrupt)
    if (held.signal.aborted) kill()
    if (signal.aborted) interrupt()
    try {
      const code = await program.ended
      return isLost ? { lost: true } : { code }
    } finally {
      clearInterval(timer)
      held.signal.removeEventListener('abort', kill)
      signal.removeEventListener('abort', interrupt)
    }
  })
}

/** The exit code, or the error of a right that was lost. */
export function codeOf(ending: Ending, what: string): number {
  if ('code' in ending) return ending.code
  throw new CommandError(`${what} was lost, so the program was ended`, {
    code: 'lost',
    hint: 'the session expired or its node was deleted; `zabra status` shows the servers',
  })
}

/** The own session must outlast the grace by far, or a program would be warned from the start. */
export function checkGrace(graceMs: number, client: Client): void {
  const timeoutMs = client.session?.timeoutMs ?? 0
  if (graceMs * 3 > timeoutMs * 2)
    throw new CommandError(
      `--grace of ${graceMs} ms does not fit into a session timeout of ${timeoutMs} ms`,
      { code: 'badGrace', hint: 'ask for a longer --session-timeout' },
    )
}
