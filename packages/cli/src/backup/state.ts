import { LogFileReader, type Point } from '@zabra/core'
import { Reader, TxnHeader } from '@zabra/protocol'
import { join } from 'node:path'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { hex } from '../node/stat.ts'
import { disk } from '../offline/files.ts'
import { replay, type Replayed } from '../offline/replay.ts'
import { timeOf } from '../offline/show-transaction.ts'
import { readChain, type Backup } from './chain.ts'
import type { Manifest, SnapshotPart } from './manifest.ts'
import type { Problem } from './verify.ts'

/** The state of an ensemble at a point that backups cover. */
export interface State extends Replayed {
  /** The time of the last transaction, if the backups contain it. */
  readonly time: string | null
  /** The newest transaction in all backups: the ensemble got at least that far. */
  readonly newestZxid: bigint
}

/** A full backup, with the backups that continue it without a gap. */
interface Line {
  readonly full: Backup & { readonly manifest: { readonly snapshot: SnapshotPart } }
  readonly backups: readonly Backup[]
}

export interface StateOptions {
  readonly signal: AbortSignal
  readonly onTransactions?: (count: number) => void
}

/** Rebuilds the state at a point, by default at the end of the backups. */
export async function stateAt(
  directory: string,
  to: Point | undefined,
  options: StateOptions,
): Promise<State> {
  const chain = await readChain(directory)
  const newest = chain.at(-1)
  if (newest === undefined)
    throw new CommandError(`there is no backup in ${directory}`, {
      code: 'noFile',
      exitCode: exitCodes.notFound,
    })
  const line = lineFor(chain, to)
  if (line === undefined) throw notCovered(chain, to!)
  const { full, backups } = line
  const { name, zxid, reaches } = full.manifest.snapshot
  const logs = backups.flatMap(({ path, manifest }) =>
    manifest.logs.map((log) => join(path, log.name)),
  )
  const last = await lastUntil(line, to, options.signal)
  const replayed = await replay(full.path, { name, zxid: BigInt(zxid) }, logs, {
    ...options,
    to: last?.zxid ?? BigInt(zxid),
  })
  const problem =
    replayed.mismatch ??
    (replayed.zxid < BigInt(reaches) ? `it is not exact before ${reaches}` : undefined)
  if (problem !== undefined)
    throw new CommandError(`${full.folder} and what follows it: ${problem}`, {
      code: 'damaged',
      hint: `\`zabra backup verify ${directory}\` finds damaged files`,
    })
  return {
    ...replayed,
    time: last === undefined ? null : timeOf(last.timeMs),
    newestZxid: newestOf(chain),
  }
}

/** The last transaction up to a point; undefined if nothing was logged before it. */
async function lastUntil(
  { backups }: Line,
  to: Point | undefined,
  signal: AbortSignal,
): Promise<{ readonly zxid: bigint; readonly timeMs: number } | undefined> {
  const logs = backups.flatMap(({ path, manifest }) => manifest.logs.map((log) => ({ path, log })))
  const header = new Reader()
  for (const { path, log } of logs.toReversed()) {
    if (to === undefined) return { zxid: BigInt(log.last), timeMs: Date.parse(log.lastTime) }
    if ('zxid' in to && BigInt(log.first) > to.zxid) continue
    const file = await LogFileReader.open(disk, join(path, log.name))
    let found: { zxid: bigint; timeMs: number } | undefined
    try {
      for await (const records of file) {
        signal.throwIfAborted()
        while (records.next()) {
          const { zxid, reader } = records
          header.reset(reader.bytes, reader.position, reader.end)
          const timeMs = Number(TxnHeader.read(header).time)
          if ('zxid' in to ? zxid <= to.zxid : timeMs <= to.timeMs) found = { zxid, timeMs }
        }
      }
    } finally {
      await file.close()
    }
    if (found !== undefined) return found
  }
  return undefined
}

/** Every full backup with its continuation, newest first. */
export function linesOf(chain: readonly Backup[]): readonly Line[] {
  const lines: Line[] = []
  for (let at = 0; at < chain.length; at++) {
    const full = chain[at]!
    if (full.manifest.snapshot === null) continue
    const backups = [full]
    for (const next of chain.slice(at + 1)) {
      if (!next.manifest.continues) break
      backups.push(next)
    }
    lines.unshift({ full: full as Line['full'], backups })
  }
  return lines
}

/** The range of points of a line that can be restored exactly. */
export function rangeOf({ full, backups }: Line): {
  readonly from: { readonly zxid: bigint; readonly time: string }
  readonly to: Manifest['last'] & { readonly takenAt: string }
} {
  const { snapshot, logs, takenAt } = full.manifest
  const last = backups.at(-1)!.manifest
  return {
    from: {
      zxid: BigInt(snapshot.reaches),
      // If the log begins later, its first transaction gives a time that is not too early.
      time: snapshot.reachesTime ?? logs[0]?.firstTime ?? takenAt,
    },
    to: { ...last.last, takenAt: last.takenAt },
  }
}

/** The newest line that covers a point, which has the least to replay. */
function lineFor(chain: readonly Backup[], to: Point | undefined): Line | undefined {
  const lines = linesOf(chain)
  if (to === undefined) return lines[0]
  return lines.find((line) => {
    const { from, to: end } = rangeOf(line)
    if ('zxid' in to) return to.zxid >= from.zxid && to.zxid <= BigInt(end.zxid)
    return to.timeMs >= Date.parse(from.time) && to.timeMs <= Date.parse(end.takenAt)
  })
}

function newestOf(chain: readonly Backup[]): bigint {
  return chain.reduce((most, { manifest }) => {
    const zxid = BigInt(manifest.last.zxid)
    return zxid > most ? zxid : most
  }, 0n)
}

function notCovered(chain: readonly Backup[], to: Point): CommandError {
  const ranges = linesOf(chain)
    .toReversed()
    .map((line) => {
      const { from, to: end } = rangeOf(line)
      return `${hex(from.zxid)} (${from.time}) to ${end.zxid} (${end.takenAt})`
    })
  const point = 'zxid' in to ? hex(to.zxid) : timeOf(to.timeMs)
  return new CommandError(`no backup covers ${point}`, {
    code: 'notCovered',
    exitCode: exitCodes.notFound,
    hint: `there is ${ranges.join(', ')}; \`zabra backup ls\` shows more`,
  })
}

/** Replays every full backup with its continuation, and compares all digests. */
export async function replayAll(
  directory: string,
  options: StateOptions,
): Promise<{ readonly transactions: number; readonly problems: readonly Problem[] }> {
  const problems: Problem[] = []
  let transactions = 0
  for (const { full, backups } of linesOf(await readChain(directory))) {
    const { name, zxid } = full.manifest.snapshot
    const logs = backups.flatMap(({ path, manifest }) =>
      manifest.logs.map((log) => join(path, log.name)),
    )
    const wanted = BigInt(backups.at(-1)!.manifest.last.zxid)
    const done = await replay(full.path, { name, zxid: BigInt(zxid) }, logs, options)
    transactions += done.transactions
    if (done.mismatch !== undefined) problems.push({ file: full.folder, message: done.mismatch })
    if (done.zxid !== wanted)
      problems.push({
        file: full.folder,
        message: `replay ends at ${hex(done.zxid)}, not at ${hex(wanted)}`,
      })
  }
  return { transactions, problems }
}
