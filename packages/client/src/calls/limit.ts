import type { AbortListeners } from '../abort-listeners.ts'
import { TimeoutError } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Call } from '../machine/call.ts'
import type { CallOptions } from '../options.ts'

/** Lets a call fail when its signal aborts or its deadline passes. */
export function limit<Request, Result>(
  call: Call<Request, Result>,
  { signal, timeoutMs }: CallOptions,
  aborts: AbortListeners,
  host: Host,
  /** What keeps an answer from coming, where that is known. */
  causeOf: () => Error | undefined,
): void {
  const stopListening =
    signal === undefined ? undefined : aborts.add(signal, () => call.fail(signal.reason))
  const cancel =
    timeoutMs === undefined
      ? undefined
      : host.timer(timeoutMs, () => {
          const mayHaveHappened = call.wasSent && !call.kind.isRead
          call.fail(
            new TimeoutError(timeoutMs, mayHaveHappened, { path: call.path, cause: causeOf() }),
          )
        })
  call.release = () => {
    stopListening?.()
    cancel?.()
  }
}
