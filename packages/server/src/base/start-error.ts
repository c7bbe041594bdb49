import { faultCode } from '@zabra/core'

/** The server cannot start; the message says what its operator can do about it. */
export class StartError extends Error {
  override readonly name = 'StartError'
  /** What the system called it (`EADDRINUSE`), where it was the system that refused. */
  readonly code: string | undefined

  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.code = faultCode(cause)
  }
}
