import { faultCode } from '@zabra/core'

/** The server cannot start; the message tells the operator what to do. */
export class StartError extends Error {
  override readonly name = 'StartError'
  /** The error code of the system (`EADDRINUSE`), if the system caused it. */
  readonly code: string | undefined

  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.code = faultCode(cause)
  }
}
