import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { faultCode } from '@zabra/core'

/** A name that Apache takes neither for a log nor for a snapshot. */
export const lockName = 'zabra.lock'

/** Another process uses the directory. */
export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError'
}

export interface DirectoryLock {
  release(): void
}

/**
 * The owner of a lock. A process id alone is not enough, since ids are reused, for example after a
 * reboot.
 */
interface Holder {
  readonly pid: number
  /** In clock ticks since boot; empty if the system does not tell. */
  readonly startTime: string
  readonly bootId: string
}

/** Locks of this process. All servers in it share one identity. */
const heldHere = new Set<string>()

/**
 * Locks a data directory for this process. A lock left behind by a dead process is taken over; for
 * one that is held, it throws an error that names the holder.
 */
export function lockDirectory(directory: string): DirectoryLock {
  const path = join(directory, lockName)
  const mine = holderOf(process.pid)
  // Two attempts are enough: one to find and remove a stale lock, one to take the free place.
  for (let attempt = 0; attempt < 2; attempt++) {
    if (take(path, mine)) {
      heldHere.add(path)
      return { release: () => release(path) }
    }
    const holder = liveHolder(path, path) ?? removeStale(path)
    if (holder !== undefined) {
      throw new DirectoryInUseError(
        `${directory} is in use by process ${holder.pid}: two servers on one data directory would ` +
          `destroy it. Stop the other one first; if there is none, remove ${path}.`,
      )
    }
  }
  throw new DirectoryInUseError(`${path} is being taken by another process at this moment`)
}

function liveHolder(file: string, path: string): Holder | undefined {
  const holder = readHolder(file)
  return holder !== undefined && isAlive(holder, path) ? holder : undefined
}

/**
 * Removes a stale lock. In the meantime another process may have done so and made its own, so this
 * checks the file that was actually moved, and puts a live one back.
 */
function removeStale(path: string): Holder | undefined {
  const aside = `${path}.${process.pid}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (faultCode(error) === 'ENOENT') return undefined
    throw error
  }
  const holder = liveHolder(aside, path)
  if (holder !== undefined) linkSync(aside, path)
  rmSync(aside, { force: true })
  return holder
}

/** False if another process has the lock. The file is created atomically. */
function take(path: string, holder: Holder): boolean {
  const { pid, startTime, bootId } = holder
  try {
    writeFileSync(path, `${pid}\n${startTime}\n${bootId}\n`, { flag: 'wx', mode: 0o644 })
    return true
  } catch (error) {
    if (faultCode(error) === 'EEXIST') return false
    throw error
  }
}

function release(path: string): void {
  if (!heldHere.delete(path)) return
  if (readHolder(path)?.pid === process.pid) rmSync(path, { force: true })
}

function readHolder(path: string): Holder | undefined {
  const [pid = '', startTime = '', bootId = ''] = readOr(path, '').split('\n')
  return /^\d+$/.test(pid) ? { pid: Number(pid), startTime, bootId } : undefined
}

function isAlive(holder: Holder, path: string): boolean {
  if (holder.pid === process.pid) return heldHere.has(path)
  const now = holderOf(holder.pid)
  if (holder.bootId !== now.bootId) return false
  if (holder.startTime !== '' && holder.startTime !== now.startTime) return false
  try {
    process.kill(holder.pid, 0)
    return true
  } catch (error) {
    // A process that we may not signal exists.
    return faultCode(error) === 'EPERM'
  }
}

function holderOf(pid: number): Holder {
  const stat = readOr(`/proc/${pid}/stat`, '')
  // The name in parentheses may contain anything; the start time is the 20th field after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // A zombie process holds nothing any more.
  const isOver = fields[0] === 'Z' || fields[0] === 'X'
  const startTime = isOver ? 'over' : (fields[19] ?? '')
  return { pid, startTime, bootId: readOr('/proc/sys/kernel/random/boot_id', '').trim() }
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return otherwise
  }
}
