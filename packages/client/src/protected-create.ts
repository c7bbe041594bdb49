import { nameOf, parentOf } from '@zabra/protocol'
import type { Created } from './calls/kinds.ts'
import { onAbort } from './abort-signals.ts'
import { checkTimeout } from './calls/arguments.ts'
import { ConnectionLossError, isRefusal, SessionExpiredError, TimeoutError } from './errors.ts'
import type { Host } from './host.ts'
import type { CallOptions } from './options.ts'
import { joinPath } from './paths.ts'
import type { Stat } from './stat.ts'

/** What a protected create needs of its client. */
export interface ProtectedPort {
  create(path: string): Promise<Created>
  /** Lets the create that was asked for last fail, unless it was sent already; answers whether it does. */
  withdraw(reason: unknown): boolean
  children(path: string): Promise<string[]>
  exists(path: string): Promise<Stat | undefined>
  delete(path: string): Promise<void>
  /** How many sessions have expired so far. */
  expiries(): number
  /** There will be no other session. */
  isClosed(): boolean
}

const refusedPauseMs = 500

/** The name under which a protected node is found again, as Curator spells it. */
export function protectedPath(path: string, guid: string): string {
  const parent = path.endsWith('/') ? path.slice(0, -1) || '/' : parentOf(path)
  return joinPath(parent, `_c_${guid}-${nameOf(path)}`)
}

/**
 * Makes a node whose name holds a guid. When the reply is lost, the node is looked for by the guid
 * and made only if it is not there. Whoever gives up waiting leaves nothing behind either: what
 * comes to be nevertheless is deleted.
 */
export function protectedCreate(
  port: ProtectedPort,
  path: string,
  guid: string,
  { signal, timeoutMs }: CallOptions,
  host: Host,
): Promise<Created> {
  checkTimeout(timeoutMs)
  if (signal?.aborted === true) return Promise.reject(signal.reason)
  const made = createOrFind(port, protectedPath(path, guid), guid, host)
  if (signal === undefined && timeoutMs === undefined) return made
  return new Promise((resolve, reject) => {
    const stop: (() => void)[] = []
    const undo = (): void => stop.splice(0).forEach((one) => one())
    const giveUp = (reasonOf: (mayHaveHappened: boolean) => unknown): void => {
      undo()
      const isWithdrawn = port.withdraw(reasonOf(false))
      reject(reasonOf(!isWithdrawn))
      madeOrLeft(made, port, path, guid)
        .then((orphan) => orphan && remove(port, orphan.path, host))
        .catch(() => {})
    }
    if (signal !== undefined) stop.push(onAbort(signal, () => giveUp(() => signal.reason)))
    if (timeoutMs !== undefined) {
      const late = (mayHaveHappened: boolean): TimeoutError =>
        new TimeoutError(timeoutMs, mayHaveHappened, { path })
      stop.push(host.timer(timeoutMs, () => giveUp(late)))
    }
    made.finally(undo).then(resolve, reject)
  })
}

/** Also after the session in which it may have been made: what the next one finds of it. */
function madeOrLeft(
  made: Promise<Created>,
  port: ProtectedPort,
  path: string,
  guid: string,
): Promise<Created | undefined> {
  return made.catch((error: unknown) => {
    const mayBeThere = error instanceof SessionExpiredError && error.mayHaveHappened
    return mayBeThere ? find(port, protectedPath(path, guid), guid) : undefined
  })
}

async function createOrFind(
  port: ProtectedPort,
  path: string,
  guid: string,
  host: Host,
): Promise<Created> {
  let mayBeThere = false
  let expiries = port.expiries()
  for (;;) {
    try {
      const found = mayBeThere ? await find(port, path, guid) : undefined
      // In the next session it may be there too, but no server would keep it from coming still;
      // and if it goes with its session, it is not ours any more.
      if (mayBeThere && port.expiries() !== expiries) throw new SessionExpiredError(true, { path })
      if (found !== undefined) return found
      mayBeThere = false
      expiries = port.expiries()
      return await port.create(path)
    } catch (error) {
      if (mayBeThere && error instanceof SessionExpiredError) {
        throw new SessionExpiredError(true, { path, cause: error })
      }
      // A server that cannot tell now will be able to later.
      const isDelayed = mayBeThere && isRefusal(error) && !isRefusal(error, 'noAuth')
      if (!isDelayed && !(error instanceof ConnectionLossError)) throw error
      if (isDelayed) await pause(host)
      mayBeThere = true
    }
  }
}

function pause(host: Host): Promise<void> {
  return new Promise((resolve) => host.timer(refusedPauseMs, resolve))
}

async function find(port: ProtectedPort, path: string, guid: string): Promise<Created | undefined> {
  const parent = parentOf(path)
  const names = await port.children(parent).catch((error: unknown) => {
    if (isRefusal(error, 'noNode')) return []
    throw error
  })
  const name = names.find((candidate) => candidate.includes(guid))
  if (name === undefined) return undefined
  const found = joinPath(parent, name)
  const stat = await port.exists(found)
  return stat === undefined ? undefined : { path: found, stat }
}

/** Goes on until the node is gone for certain, with its session if not before. */
async function remove(port: ProtectedPort, path: string, host: Host): Promise<void> {
  for (;;) {
    try {
      await port.delete(path)
      return
    } catch (error) {
      if (error instanceof ConnectionLossError) continue
      // An ephemeral node is gone then; another one is not.
      if (error instanceof SessionExpiredError && !port.isClosed()) continue
      // A server may refuse for a while: its disk is full, or it has too much to do.
      if (!isRefusal(error) || isRefusal(error, 'noNode', 'noAuth')) return
    }
    await pause(host)
  }
}
