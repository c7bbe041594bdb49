import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { logsAmong, snapshotsAmong, type StoredFile } from '@zabra/core'
import { NodeDisk } from '@zabra/server'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'

/** Files of a data directory, of zabra or of Apache ZooKeeper. */
export interface FoundFiles {
  readonly directory: string
  readonly files: readonly StoredFile[]
}

export const disk = new NodeDisk()

/** The logs that a path names: one file, a directory, or a data directory with `version-2`. */
export function findLogs(path: string): Promise<FoundFiles> {
  return find(path, 'log', logsAmong)
}

export function findSnapshots(path: string): Promise<FoundFiles> {
  return find(path, 'snapshot', snapshotsAmong)
}

async function find(path: string, what: string, among: typeof logsAmong): Promise<FoundFiles> {
  const absolute = resolve(path)
  if (!existsSync(absolute)) throw missing(`${path} does not exist`)
  if (!statSync(absolute).isDirectory()) {
    const directory = dirname(absolute)
    const entry = { name: basename(absolute), bytes: statSync(absolute).size }
    const files = among([entry])
    if (files.length === 0)
      throw missing(`${path} is not named like a ${what}`, `as ${what}.100000001`)
    return { directory, files }
  }
  const inner = join(absolute, 'version-2')
  const directory = existsSync(inner) ? inner : absolute
  const files = among(await disk.list(directory))
  if (files.length === 0) throw missing(`there is no ${what} in ${directory}`, near(absolute))
  return { directory, files }
}

/** Where a data directory is, if people named a folder above it. */
function near(directory: string): string {
  const found = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(directory, name))
    .flatMap((folder) => [folder, join(folder, 'data')])
    .filter((folder) => existsSync(join(folder, 'version-2')))
  return found.length === 0
    ? 'name a file, or a data directory: dataDir or dataLogDir in zoo.cfg, which has a folder version-2'
    : `there is a data directory in ${found.join(', ')}`
}

function missing(message: string, hint?: string): CommandError {
  return new CommandError(message, { code: 'noFile', exitCode: exitCodes.notFound, hint })
}
