import { createReadStream } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isNextZxid } from '@zabra/core'
import { listFolders } from './chain.ts'
import {
  folderPattern,
  manifestName,
  parseManifest,
  parseSums,
  partsOf,
  sha256Of,
  sumsName,
  type Manifest,
  type Sums,
} from './manifest.ts'
import { measured, type Written } from './target.ts'
import { readTar } from './tar.ts'

/** Something that is wrong; `file` is below the directory of the backups. */
export interface Problem {
  readonly file: string
  readonly message: string
}

/** A backup as far as it could be read. */
interface Looked {
  readonly folder: string
  readonly number: number
  /** The digest of its sums. */
  readonly sums: string | undefined
  readonly manifest: Manifest | undefined
  readonly problems: readonly Problem[]
  readonly files: number
  readonly bytes: number
}

export interface Verified {
  readonly problems: readonly Problem[]
  readonly backups: number
  readonly files: number
  readonly bytes: number
}

/** Checks every byte of every backup against its digest, and that the backups form one chain. */
export async function verifyDirectory(
  directory: string,
  signal: AbortSignal,
  onFile: () => void = () => {},
): Promise<Verified> {
  const looked: Looked[] = []
  for (const { folder, number } of await listFolders(directory)) {
    const verifier = new Verifier(folder, signal, onFile)
    looked.push(await verifier.folder(join(directory, folder), number))
  }
  const newest = looked.findLast(({ manifest }) => manifest !== undefined)?.manifest
  // A backup that retention is removing may be incomplete.
  const kept = looked.filter(({ number }) => number >= (newest?.keepsFrom ?? 0))
  return verified(kept, chainProblems(kept, newest))
}

/** The same for a backup in a tar stream. */
export async function verifyStream(
  stream: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  onFile: () => void = () => {},
): Promise<Verified> {
  let verifier: Verifier | undefined
  let folder = ''
  const texts = new Map<string, string>()
  try {
    for await (const { name, bytes, chunks } of readTar(stream)) {
      const [own = '', file = ''] = name.split('/')
      if (verifier === undefined) {
        folder = own
        verifier = new Verifier(own, signal, onFile)
      }
      const kept: Uint8Array[] = []
      const isText = file === manifestName || file === sumsName
      await verifier.file(own === folder ? file : name, chunks, (chunk) => {
        if (isText && bytes < textBytesMax) kept.push(chunk.slice())
      })
      if (isText) texts.set(file, Buffer.concat(kept).toString())
    }
  } catch (error) {
    signal.throwIfAborted()
    const problem = { file: folder || '.', message: (error as Error).message }
    return {
      problems: [problem],
      backups: 0,
      files: verifier?.files ?? 0,
      bytes: verifier?.bytes ?? 0,
    }
  }
  const looked = verifier?.judge(texts.get(sumsName), texts.get(manifestName), folder)
  if (looked === undefined)
    return {
      problems: [{ file: '.', message: 'the stream is empty' }],
      backups: 0,
      files: 0,
      bytes: 0,
    }
  return verified([looked], [])
}

const textBytesMax = 64 * 1024 * 1024

function verified(looked: readonly Looked[], more: readonly Problem[]): Verified {
  const sum = (count: (one: Looked) => number): number =>
    looked.reduce((total, one) => total + count(one), 0)
  return {
    problems: [...looked.flatMap(({ problems }) => problems), ...more],
    backups: looked.length,
    files: sum(({ files }) => files),
    bytes: sum(({ bytes }) => bytes),
  }
}

/** Looks at one backup. */
class Verifier {
  files = 0
  bytes = 0
  private readonly folderName: string
  private readonly signal: AbortSignal
  private readonly onFile: () => void
  private readonly problems: Problem[] = []
  private readonly actual = new Map<string, Written>()

  constructor(folder: string, signal: AbortSignal, onFile: () => void) {
    this.folderName = folder
    this.signal = signal
    this.onFile = onFile
  }

  async folder(path: string, number: number): Promise<Looked> {
    for (const name of (await readdir(path)).toSorted()) {
      try {
        await this.file(name, createReadStream(join(path, name)))
      } catch (error) {
        this.signal.throwIfAborted()
        this.tell(name, `cannot be read: ${(error as Error).message}`)
      }
    }
    const read = (name: string): Promise<string | undefined> =>
      readFile(join(path, name), 'utf8').catch(() => undefined)
    const looked = this.judge(await read(sumsName), await read(manifestName), this.folderName)
    return { ...looked, number }
  }

  async file(
    name: string,
    chunks: AsyncIterable<Uint8Array>,
    onChunk: (chunk: Uint8Array) => void = () => {},
  ): Promise<void> {
    const written = await measured(chunks, async (chunk) => {
      this.signal.throwIfAborted()
      onChunk(chunk)
    })
    this.files++
    this.bytes += written.bytes
    this.onFile()
    this.actual.set(name, written)
  }

  judge(sumsSaid: string | undefined, manifestSaid: string | undefined, folder: string): Looked {
    const sums = sumsSaid === undefined ? undefined : parseSums(sumsSaid)
    if (sumsSaid === undefined) this.tell(sumsName, 'is missing')
    else if (sums === undefined) this.tell(sumsName, 'is damaged')
    let manifest: Manifest | undefined
    if (manifestSaid === undefined) this.tell(manifestName, 'is missing')
    else {
      try {
        manifest = parseManifest(manifestSaid)
      } catch (error) {
        this.tell(manifestName, `is damaged: ${(error as Error).message}`)
      }
    }
    this.compare(sums, manifest)
    if (manifest !== undefined && !isNamed(folder, manifest))
      this.problems.push({
        file: folder,
        message: `holds the manifest of backup ${manifest.number} (${manifest.kind})`,
      })
    return {
      folder,
      number: manifest?.number ?? 0,
      sums: sumsSaid === undefined ? undefined : sha256Of(sumsSaid),
      manifest,
      problems: this.problems,
      files: this.files,
      bytes: this.bytes,
    }
  }

  private tell(file: string, message: string): void {
    this.problems.push({ file: `${this.folderName}/${file}`, message })
  }

  private compare(sums: Sums | undefined, manifest: Manifest | undefined): void {
    const described = new Map(
      manifest === undefined ? [] : partsOf(manifest).map((part) => [part.name, part.sha256]),
    )
    const names = new Set([...(sums?.keys() ?? []), ...described.keys(), ...this.actual.keys()])
    names.delete(sumsName)
    for (const name of names) {
      const written = this.actual.get(name)
      if (name === manifestName) this.compareManifest(written, sums)
      else if (written === undefined) this.tell(name, 'is missing')
      else this.compareFile(name, written.sha256, sums?.get(name), described.get(name))
    }
  }

  private compareManifest(written: Written | undefined, sums: Sums | undefined): void {
    const summed = sums?.get(manifestName)
    if (sums !== undefined && summed === undefined) this.tell(sumsName, `lacks ${manifestName}`)
    else if (written !== undefined && summed !== undefined && written.sha256 !== summed)
      this.tell(manifestName, `or ${sumsName} is damaged: the digests of ${manifestName} differ`)
  }

  private compareFile(
    name: string,
    actual: string,
    summed: string | undefined,
    said: string | undefined,
  ): void {
    const wanted = said ?? summed
    if (wanted === undefined) this.tell(name, 'does not belong here')
    else if (actual !== said && actual !== summed)
      this.tell(name, `is damaged: its digest is ${short(actual)}, not ${short(wanted)}`)
    else if (summed !== undefined && actual !== summed)
      this.tell(sumsName, `is damaged: it has another digest of ${name} than ${manifestName}`)
    else if (said !== undefined && actual !== said)
      this.tell(manifestName, `is damaged: it has another digest of ${name} than ${sumsName}`)
  }
}

/** The problems in the order of backups: each must follow the one before it. */
function chainProblems(backups: readonly Looked[], newest: Manifest | undefined): Problem[] {
  if (newest === undefined)
    return [{ file: '.', message: 'there is no backup here that can be read' }]
  const problems: Problem[] = []
  const tell = (file: string, message: string): void => void problems.push({ file, message })
  const byNumber = new Map<number, Looked>()
  for (const looked of backups) {
    const other = byNumber.get(looked.number)
    if (other === undefined) byNumber.set(looked.number, looked)
    else tell(looked.folder, `has the number of ${other.folder}`)
  }
  const last = backups.at(-1)!.number
  for (let number = newest.keepsFrom; number <= last; number++) {
    const looked = byNumber.get(number)
    const next = byNumber.get(number + 1)
    const previous = next?.manifest?.previous
    if (looked === undefined) {
      tell(previous?.folder ?? String(number).padStart(6, '0'), 'is missing')
      continue
    }
    const { folder, manifest, sums } = looked
    if (number === newest.keepsFrom && manifest?.kind === 'log')
      tell(folder, 'is the first backup, and is not a full one')
    if (previous !== undefined && previous !== null && previous.folder !== folder)
      tell(next!.folder, `follows ${previous.folder}, not ${folder}`)
    else if (previous !== undefined && previous !== null && previous.sha256 !== sums)
      tell(`${folder}/${sumsName}`, `or what ${next!.folder} says of it was changed`)
    if (manifest !== undefined)
      for (const gap of gaps(manifest, byNumber.get(number - 1)?.manifest))
        tell(`${folder}/${gap.file}`, gap.message)
  }
  return problems
}

/** Where transactions are left out. */
function gaps({ logs, continues, kind }: Manifest, before: Manifest | undefined): Problem[] {
  const problems: Problem[] = []
  let zxid = continues && kind === 'log' && before !== undefined ? before.last.zxid : undefined
  for (const { name: file, first, last } of logs) {
    if (zxid !== undefined && !isNextZxid(BigInt(zxid), BigInt(first)))
      problems.push({ file, message: `begins at ${first}, but what comes before ends at ${zxid}` })
    zxid = last
  }
  return problems
}

function short(digest: string): string {
  return `${digest.slice(0, 12)}...`
}

function isNamed(folder: string, { number, kind }: Manifest): boolean {
  const [, digits, ownKind] = folderPattern.exec(folder) ?? []
  return Number(digits) === number && ownKind === kind
}
