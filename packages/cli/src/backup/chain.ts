import { existsSync } from 'node:fs'
import { readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { disk } from '../offline/files.ts'
import { unfinishedSuffix } from './folder-target.ts'
import {
  folderPattern,
  manifestName,
  parseManifest,
  parseSums,
  sha256Of,
  sumsName,
  type Manifest,
} from './manifest.ts'

/** One backup in a directory. */
export interface Backup {
  readonly folder: string
  readonly path: string
  readonly manifest: Manifest
  /** The digest of its `SHA256SUMS`, by which the next backup refers to it. */
  readonly sha256: string
}

/** A folder being removed. */
const removedSuffix = '.removed'

/** The folders of backups in a directory, in the order of their numbers. */
export async function listFolders(
  directory: string,
): Promise<{ readonly folder: string; readonly number: number }[]> {
  let names: string[]
  try {
    names = await readdir(directory)
  } catch (cause) {
    throw new CommandError(`${directory} cannot be read: ${(cause as Error).message}`, {
      code: 'noFile',
      exitCode: exitCodes.notFound,
      cause,
    })
  }
  return names
    .flatMap((folder) => {
      const number = folderPattern.exec(folder)?.[1]
      return number === undefined ? [] : [{ folder, number: Number(number) }]
    })
    .toSorted((a, b) => a.number - b.number || (a.folder < b.folder ? -1 : 1))
}

/** Reads the manifest of a folder and checks it against the folder's sums. */
export async function readBackup(directory: string, folder: string): Promise<Backup> {
  const path = join(directory, folder)
  const damaged = (file: string, problem: string): CommandError =>
    new CommandError(`${join(path, file)}: ${problem}`, {
      code: 'damaged',
      hint: `\`zabra backup verify ${directory}\` says what is still sound`,
    })
  const read = async (file: string): Promise<string> => {
    try {
      return await readFile(join(path, file), 'utf8')
    } catch (error) {
      throw damaged(file, (error as Error).message)
    }
  }
  const text = await read(sumsName)
  const sums = parseSums(text)
  if (sums === undefined) throw damaged(sumsName, 'it is damaged')
  const manifest = await read(manifestName)
  if (sums.get(manifestName) !== sha256Of(manifest))
    throw damaged(manifestName, `it does not match ${sumsName}`)
  try {
    return { folder, path, manifest: parseManifest(manifest), sha256: sha256Of(text) }
  } catch (error) {
    throw damaged(manifestName, (error as Error).message)
  }
}

/** All backups to keep, oldest first. */
export async function readChain(directory: string): Promise<Backup[]> {
  const folders = await listFolders(directory)
  const newest = folders.at(-1)
  if (newest === undefined) return []
  const { keepsFrom } = (await readBackup(directory, newest.folder)).manifest
  const chain: Backup[] = []
  for (const { folder, number } of folders)
    if (number >= keepsFrom) chain.push(await readBackup(directory, folder))
  return chain
}

/** The newest backup; undefined if there is none. */
export async function readNewest(directory: string): Promise<Backup | undefined> {
  const newest = (await listFolders(directory)).at(-1)
  return newest && readBackup(directory, newest.folder)
}

/** Removes what interrupted runs left behind, and backups that the newest one no longer needs. */
export async function removeUnneeded(directory: string, keepsFrom: number): Promise<string[]> {
  const removed: string[] = []
  for (const { folder, number } of await listFolders(directory)) {
    if (number >= keepsFrom) continue
    await rename(join(directory, folder), join(directory, folder + removedSuffix))
    removed.push(folder)
  }
  if (removed.length > 0) await disk.syncDirectory(directory)
  for (const name of await readdir(directory)) {
    const isOurs = folderPattern.test(name.replace(/\.\w+$/, ''))
    if (isOurs && (name.endsWith(removedSuffix) || name.endsWith(unfinishedSuffix)))
      await rm(join(directory, name), { recursive: true, force: true })
  }
  return removed
}

/** The folders that interrupted runs left behind. */
export async function listUnfinished(directory: string): Promise<string[]> {
  if (!existsSync(directory)) return []
  return (await readdir(directory)).filter((name) => name.endsWith(unfinishedSuffix))
}
