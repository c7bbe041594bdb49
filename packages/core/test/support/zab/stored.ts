/** The state that a restart would find on a disk if power failed now. */
import { decodeText } from '@zabra/protocol'
import { listIfThere, logsAmong, snapshotsAmong } from '../../../src/storage/disk/files.ts'
import { LogFileReader } from '../../../src/storage/log/log-reader.ts'
import type { MemoryDisk } from '../../../src/storage/disk/memory-disk.ts'
import { zxidText } from './describe.ts'

export const directory = 'data/version-2'

export interface Stored {
  readonly acceptedEpoch: string | undefined
  readonly currentEpoch: string | undefined
  readonly snapshots: readonly string[]
  readonly logged: readonly string[]
}

export async function storedOn(disk: MemoryDisk): Promise<Stored> {
  const left = disk.afterCrash()
  const entries = await listIfThere(left, directory)
  const text = (name: string): string | undefined => {
    if (!entries.some((entry) => entry.name === name)) return undefined
    const bytes = left.content(`${directory}/${name}`)
    return decodeText(bytes, 0, bytes.length)
  }
  const logged: string[] = []
  for (const { name } of logsAmong(entries)) {
    const log = await LogFileReader.open(left, `${directory}/${name}`)
    for await (const records of log) while (records.next()) logged.push(zxidText(records.zxid))
    await log.close()
  }
  return {
    acceptedEpoch: text('acceptedEpoch'),
    currentEpoch: text('currentEpoch'),
    snapshots: snapshotsAmong(entries).map(({ zxid }) => zxidText(zxid)),
    logged,
  }
}

/** The writes that became durable, or were lost for good, between two moments. */
export function describeChange(before: Stored, after: Stored): string[] {
  const lines: string[] = []
  const tell = (what: string, items: readonly string[]): void => {
    if (items.length > 0) lines.push(`${what} ${items.join(' ')}`)
  }
  tell('forgets snapshot', without(before.snapshots, after.snapshots))
  tell('forgets', without(before.logged, after.logged))
  tell('logs', without(after.logged, before.logged))
  tell('stores snapshot', without(after.snapshots, before.snapshots))
  for (const name of ['acceptedEpoch', 'currentEpoch'] as const) {
    if (after[name] !== before[name]) lines.push(`stores ${name} ${after[name]}`)
  }
  return lines
}

function without(items: readonly string[], others: readonly string[]): string[] {
  return items.filter((item) => !others.includes(item))
}
