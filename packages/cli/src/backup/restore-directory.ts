import { existsSync, readdirSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { epochOf, epochStart, writeSnapshot } from '@zabra/core'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { disk } from '../offline/files.ts'
import type { State } from './state.ts'

const formatFolder = 'version-2'

/** Refuses a data directory that is not empty. */
export function checkIsNew(dataDir: string): void {
  const files = join(dataDir, formatFolder)
  if (existsSync(files) && readdirSync(files).length > 0)
    throw new CommandError(`${files} is not empty`, {
      code: 'exists',
      exitCode: exitCodes.conflict,
      hint: 'name a new directory, or move this one away',
    })
}

/**
 * Writes a state as the data directory of a server. It begins a new epoch, above everything in the
 * backups: no zxid is used for two transactions, and clients that have seen a later state are
 * accepted. Resolves with the zxid from which the server continues.
 */
export async function writeDirectory(dataDir: string, { db, newestZxid }: State): Promise<bigint> {
  checkIsNew(dataDir)
  const zxid = epochStart(epochOf(newestZxid) + 1n)
  const unfinished = join(dataDir, `${formatFolder}.unfinished`)
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { recursive: true })
  db.advance(zxid)
  await writeSnapshot(disk, unfinished, db.snapshotSource())
  await rm(join(dataDir, formatFolder), { recursive: true, force: true })
  await rename(unfinished, join(dataDir, formatFolder))
  await disk.syncDirectory(dataDir)
  return zxid
}
