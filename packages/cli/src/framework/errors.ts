import { exitCodes, type ExitCode } from './exit-codes.ts'

/** A failure that the person at the terminal can act on. `hint` says what to try. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError'
  readonly code: string
  readonly exitCode: ExitCode
  readonly hint: string | undefined

  constructor(
    message: string,
    {
      hint,
      code = 'failed',
      exitCode = exitCodes.failed,
      cause,
    }: {
      readonly hint?: string | undefined
      readonly code?: string
      readonly exitCode?: ExitCode
      readonly cause?: unknown
    } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.exitCode = exitCode
    this.hint = hint
  }
}

/** The command line is wrong. */
export class UsageError extends CommandError {
  override readonly name = 'UsageError'

  constructor(message: string, hint?: string) {
    super(message, { hint, code: 'usage', exitCode: exitCodes.usage })
  }
}
