import { mkdirSync, statSync } from 'node:fs'
import type { ServerConfig } from '../config/config.ts'
import { StartError } from '../base/start-error.ts'
import { DirectoryInUseError, lockDirectory, type DirectoryLock } from './lock.ts'

type Directories = Pick<ServerConfig, 'dataDir' | 'dataLogDir' | 'autoCreateDataDir'>

/** Locks the directories of a server: all of them, or none. */
export function lockDirectories(config: Directories): DirectoryLock[] {
  const keys = config.dataLogDir === config.dataDir ? (['dataDir'] as const) : bothKeys
  const locks: DirectoryLock[] = []
  try {
    for (const key of keys) prepare(key, config)
    for (const key of keys) locks.push(lock(key, config[key]))
    return locks
  } catch (error) {
    for (const taken of locks) taken.release()
    throw error
  }
}

type Key = 'dataDir' | 'dataLogDir'
const bothKeys = ['dataDir', 'dataLogDir'] as const

function prepare(key: Key, { [key]: directory, autoCreateDataDir }: Directories): void {
  const found = usable(key, directory, () => statSync(directory, { throwIfNoEntry: false }))
  if (found?.isDirectory() === true) return
  if (found !== undefined) {
    throw new StartError(`${key}: ${directory} is a file; it must be a directory`)
  }
  if (!autoCreateDataDir) {
    throw new StartError(
      `${key}: there is no directory ${directory}, and datadir.autocreate is false. Create it, ` +
        'or mount the disk that holds it.',
    )
  }
  usable(key, directory, () => mkdirSync(directory, { recursive: true }))
}

function lock(key: Key, directory: string): DirectoryLock {
  return usable(key, directory, () => lockDirectory(directory))
}

/** The system's error does not say which setting it is about. */
function usable<T>(key: Key, directory: string, use: () => T): T {
  try {
    return use()
  } catch (error) {
    if (error instanceof DirectoryInUseError) throw error
    const { message } = error as Error
    throw new StartError(`${key}: ${directory} cannot be used: ${message}`, error)
  }
}
