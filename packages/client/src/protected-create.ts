import { nameOf, parentOf } from '@zabra/protocol'
import type { Created } from './calls/kinds.ts'
import { onAbort } from './abort-signals.ts'
import { checkTimeout } from './calls/arguments.ts'
import { ConnectionLossError, isRefusal, SessionExpiredError, TimeoutError } from './errors.ts'
import type { Host } from './host.ts'
import type { CallOptions } from './options.ts'
import { joinPath } from './paths.ts'
import type { Stat } from './stat.ts'

/** The parts of its client that a protected create needs. */
export interface ProtectedPort {
  create(path: string): Promise<Created>
  /** Fails the last requested create, unless it was sent already; returns whether it did. */
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

/** The prefix by which a protected node is found again, in Curator's format. */
function protectedPath(path: string, guid: string): string {
  const parent = path.endsWith('/') ? path.slice(0, -1) || '/' : parentOf(path)
  return joinPath(parent, `_c_${guid}-${nameOf(path)}`)
}

/**
 * Creates a node whose name contains a guid. When the reply is lost, it looks for the node by the
 * guid and creates it only if it does not exist. After giving up, a node that was created
 * nevertheless is deleted.
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

/** Looks for the node, also in the next session. */
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
      // In the next session the node may exist too, but an old server could still create it; and if
      // it is ephemeral, it no longer belongs to us.
      if (mayBeThere && port.expiries() !== expiries) throw new SessionExpiredError(true, { path })
      if (found !== undefined) return found
      mayBeThere = false
      expiries = port.expiries()
      return await port.create(path)
    } catch (error) {
      if (mayBeThere && error instanceof SessionExpiredError) {
        throw new SessionExpiredError(true, { path, cause: error })
      }
      // A server that cannot answer now will be able to later.
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

/** Continues until the node is certainly gone, at the latest with its session. */
async function remove(port: ProtectedPort, path: string, host: Host): Promise<void> {
  for (;;) {
    try {
      await port.delete(path)
      return
    } catch (error) {
      if (error instanceof ConnectionLossError) continue
      // An ephemeral node is gone then; another one is not.
      if (error instanceof SessionExpiredError && !port.isClosed()) continue
      // A server may refuse for a while: its disk is full, or it is overloaded.
      if (!isRefusal(error) || isRefusal(error, 'noNode', 'noAuth')) return
    }
    await pause(host)
  }
}
