import { onAbort } from '../abort-signals.ts'
import { TimeoutError } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Call } from '../machine/call.ts'
import { reasonOf } from '../operator-log.ts'
import type { CallOptions } from '../options.ts'

/** The error for a reply that did not come in time, with the cause if it is known. */
export function lateError<Request, Result>(
  call: Call<Request, Result>,
  timeoutMs: number,
  cause: Error | undefined,
): TimeoutError {
  const mayHaveHappened = call.wasSent && !call.kind.isRead
  const what = cause === undefined ? 'no answer' : `no connection (${reasonOf(cause)})`
  return new TimeoutError(timeoutMs, mayHaveHappened, { path: call.path, cause }, what)
}

/** Fails a call when its signal aborts or its deadline passes. */
export function limit<Request, Result>(
  call: Call<Request, Result>,
  { signal, timeoutMs }: CallOptions,
  host: Host,
  /** The reason why no answer comes, if it is known. */
  causeOf: () => Error | undefined,
): void {
  const stopListening =
    signal === undefined ? undefined : onAbort(signal, (reason) => call.fail(reason))
  const cancel =
    timeoutMs === undefined
      ? undefined
      : host.timer(timeoutMs, () => {
          call.fail(lateError(call, timeoutMs, causeOf()))
        })
  call.release = () => {
    stopListening?.()
    cancel?.()
  }
}
