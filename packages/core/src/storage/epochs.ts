import { decodeText, encodeText } from '@zabra/protocol'
import { assert } from '../base/assert.ts'
import { epochOf } from './zxid.ts'
import { faultCode, type Disk } from '../ports.ts'

const acceptedName = 'acceptedEpoch'
const currentName = 'currentEpoch'

/** An epoch has 31 bits, because readers take it as a signed number. */
export const epochMax = 0x7fffffffn
/**
 * How far a server may be ahead that took part in failed attempts to lead: each of them used up
 * one epoch. A claim of more is an error or an attack: epochs never go back, and they are finite.
 */
export const epochJumpMax = 0x10000n

/** The epoch files contradict the history beside them. */
export class EpochError extends Error {
  override readonly name = 'EpochError'
}

/**
 * The two promises a server keeps across restarts: the newest epoch it agreed to join, and the
 * epoch whose history it holds.
 *
 *     epoch of the last logged zxid  <=  current  <=  accepted
 *
 * On disk the first of the two may fail to hold for a moment: while a history is taken over it
 * is durable before the epoch it stands for. A crash right then is mended by `load`.
 */
export class Epochs {
  accepted: bigint
  current: bigint
  private readonly disk: Disk
  private readonly directory: string
  /** One write at a time: the late write of an earlier role must not overwrite a later one. */
  private writing: Promise<void> = Promise.resolve()

  private constructor(disk: Disk, directory: string, accepted: bigint, current: bigint) {
    this.disk = disk
    this.directory = directory
    this.accepted = accepted
    this.current = current
  }

  /** Reads both files; a missing one follows from the history. */
  static async load(
    disk: Disk,
    directory: string,
    lastZxid: bigint,
    /** Revokes all promises; the operator confirms that no server is running. */
    options: { readonly resetsAccepted?: boolean } = {},
  ): Promise<Epochs> {
    const history = epochOf(lastZxid)
    let current = await readEpoch(disk, directory, currentName)
    const accepted = await readEpoch(disk, directory, acceptedName)
    const wasBehind = current !== undefined && history > current
    if (wasBehind) {
      if (accepted === undefined || accepted < history) {
        throw new EpochError(
          `${directory}/${currentName} says ${current}, but the history is of epoch ${history}`,
        )
      }
      // The crash came while a leader's history was taken over. What is here of it is what its
      // servers held in the epoch of its last transaction; with an epoch that was written and
      // synced, but not renamed, it is all of it.
      const unfinished = await readEpoch(disk, directory, `${currentName}.tmp`)
      const isWhole = unfinished !== undefined && unfinished >= history && unfinished <= accepted
      current = isWhole ? unfinished : history
    }
    // A process that was killed may have left a name that is only in the system's cache.
    await disk.syncDirectory(directory)
    const epochs = new Epochs(disk, directory, accepted ?? history, current ?? history)
    if (epochs.accepted < epochs.current) {
      throw new EpochError(
        `${directory}/${acceptedName} says ${epochs.accepted}, less than ${currentName}, ${epochs.current}`,
      )
    }
    if (options.resetsAccepted === true) epochs.accepted = epochs.current
    if (accepted !== epochs.accepted) await epochs.write(acceptedName, epochs.accepted)
    if (current === undefined || wasBehind) await epochs.write(currentName, epochs.current)
    return epochs
  }

  /** The promise is further ahead of the history than failed leaders can explain. */
  get isAbsurd(): boolean {
    return this.accepted - this.current > epochJumpMax
  }

  /** Durable when it resolves: only then may the promise be sent. */
  setAccepted(epoch: bigint): Promise<void> {
    return this.inTurn(async () => {
      assert(epoch >= this.accepted, 'an accepted epoch never goes back')
      await this.write(acceptedName, epoch)
      this.accepted = epoch
    })
  }

  /** Call it only after the history of this epoch is durable. */
  setCurrent(epoch: bigint): Promise<void> {
    return this.inTurn(async () => {
      assert(epoch <= this.accepted, 'an epoch is accepted before it is entered')
      await this.write(currentName, epoch)
      this.current = epoch
    })
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.writing.then(work)
    this.writing = done.catch(() => {})
    return done
  }

  private async write(name: string, epoch: bigint): Promise<void> {
    const path = `${this.directory}/${name}`
    const file = await this.disk.create(`${path}.tmp`)
    try {
      await file.write(encodeText(String(epoch)), 0)
      await file.sync()
    } finally {
      await file.close()
    }
    await this.disk.rename(`${path}.tmp`, path)
    await this.disk.syncDirectory(this.directory)
  }
}

async function readEpoch(disk: Disk, directory: string, name: string): Promise<bigint | undefined> {
  const path = `${directory}/${name}`
  let text: string
  try {
    const file = await disk.openRead(path)
    try {
      const bytes = new Uint8Array(file.bytes)
      const count = await file.read(0, bytes)
      text = decodeText(bytes, 0, count).trim()
    } finally {
      await file.close()
    }
  } catch (error) {
    if (faultCode(error) === 'ENOENT') return undefined
    throw error
  }
  if (!/^-?\d+$/.test(text)) {
    if (name.endsWith('.tmp')) return undefined
    throw new EpochError(`${path} holds no number: ${JSON.stringify(text)}`)
  }
  return BigInt(text)
}
