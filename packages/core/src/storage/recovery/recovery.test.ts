import { beforeEach, describe, expect, test } from 'vitest'
import { extentName } from '../log/extent.ts'
import { MemoryDisk } from '../disk/memory-disk.ts'
import { RecoveryError } from './recovery-error.ts'
import { writeSnapshot } from '../snapshot/snapshot.ts'
import {
  batchOf,
  directory,
  range,
  recoverTest,
  TestDatabase,
  writeLog,
  type TestRecovery,
} from '../../../test/support/storage.ts'
import { TxnLog } from '../log/txn-log.ts'

let disk: MemoryDisk

beforeEach(async () => {
  disk = new MemoryDisk({ forgetful: true })
  await disk.makeDirectory(directory)
})

async function snapshotAt(zxid: number): Promise<void> {
  const database = TestDatabase.fresh()
  database.put(`/at-${zxid}`, 'x')
  await writeSnapshot(disk, directory, database.source(BigInt(zxid)))
}

const logPath = (zxid: number): string => `${directory}/log.${zxid.toString(16)}`
const snapshotPath = (zxid: number): string => `${directory}/snapshot.${zxid.toString(16)}`

async function change(
  path: string,
  edit: (bytes: Buffer) => Uint8Array | undefined,
): Promise<void> {
  const bytes = Buffer.from(disk.content(path))
  await disk.put(path, edit(bytes) ?? bytes)
}

function types({ events }: TestRecovery): string[] {
  const all = events.map(({ type }) => type)
  return all.filter((type) => type !== 'extentUnknown')
}

function applied({ target }: TestRecovery): number[] {
  return target.applied.map(Number)
}

async function names(): Promise<string[]> {
  const all = (await disk.list(directory)).map(({ name }) => name)
  return all.filter((name) => name !== extentName).toSorted()
}

/** Bytes of one record of `batchOf`. */
const recordBytes = 12 + 32 + 4 + 1

test('the database learns the size of the snapshot in advance', async () => {
  await snapshotAt(5)
  const { target } = await recoverTest(disk)
  expect(target.expectedBytes).toBe(disk.content(snapshotPath(5)).length)
})

test('a new directory gets snapshot.0, and is found again', async () => {
  const first = await recoverTest(disk)
  expect(first.isFresh).toBe(true)
  expect(types(first)).toEqual(['freshDirectory'])
  disk.crash()
  const second = await recoverTest(disk)
  expect(second).toMatchObject({ isFresh: false, zxid: 0n, snapshotFile: 'snapshot.0' })
})

test('the snapshot is loaded and later transactions are applied', async () => {
  await snapshotAt(0)
  await writeLog(disk, [range(1, 4)])
  await snapshotAt(3)
  await writeLog(disk, [range(5, 9)])
  const recovered = await recoverTest(disk)
  expect(applied(recovered)).toEqual(range(4, 9))
  expect(recovered.target.nodes.has('/at-3')).toBe(true)
  expect(recovered).toMatchObject({ zxid: 9n, snapshotZxid: 3n, recordsReplayed: 6 })
})

test('the name of a loaded snapshot survives a power failure, even if its own sync failed', async () => {
  await recoverTest(disk)
  let syncs = 0
  disk.fault = (call) => (call === 'syncDirectory' && syncs++ === 0 ? 'EIO' : undefined)
  await expect(snapshotAt(5)).rejects.toThrow('EIO')
  expect((await recoverTest(disk)).zxid).toBe(5n)
  disk.crash()
  expect((await recoverTest(disk)).zxid).toBe(5n)
})

test('a new epoch may begin where the last one ended', async () => {
  await snapshotAt(0)
  await writeLog(disk, [[0x100000001, 0x100000002, 0x200000001]])
  expect((await recoverTest(disk)).zxid).toBe(0x200000001n)
})

test('leftovers of interrupted writes are removed', async () => {
  await snapshotAt(0)
  await disk.put(`${directory}/new.snapshot.5`, new Uint8Array(3))
  await disk.put(`${directory}/new.log.5`, new Uint8Array(3))
  await disk.put(`${directory}/snapshot.5.tmp`, new Uint8Array(3))
  await disk.put(`${directory}/acceptedEpoch`, new Uint8Array(1))
  await recoverTest(disk)
  expect(await names()).toEqual(['acceptedEpoch', 'snapshot.0'])
})

describe('a snapshot that cannot be used', () => {
  beforeEach(async () => {
    await snapshotAt(0)
    await writeLog(disk, [range(1, 4)])
    await snapshotAt(4)
  })

  test('is passed over for an older one and more of the log', async () => {
    await change(snapshotPath(4), (bytes) => bytes.subarray(0, -30))
    const recovered = await recoverTest(disk)
    expect(applied(recovered)).toEqual(range(1, 4))
    expect(recovered.events[0]).toMatchObject({
      type: 'snapshotSkipped',
      file: snapshotPath(4),
      reason: 'it is not complete',
    })
  })

  test('is passed over as well when only its content is damaged', async () => {
    await change(snapshotPath(4), (bytes) => void (bytes[40] = 77))
    expect(applied(await recoverTest(disk))).toEqual(range(1, 4))
  })

  test('is passed over as well when it cannot be read', async () => {
    disk.fault = (call, path) => (call === 'openRead' && path.endsWith('.4') ? 'EIO' : undefined)
    expect(applied(await recoverTest(disk))).toEqual(range(1, 4))
  })

  test('stops recovery when the older files do not reach as far', async () => {
    await change(snapshotPath(4), (bytes) => void (bytes[40] = 77))
    await disk.remove(logPath(1))
    await expect(recoverTest(disk)).rejects.toThrow(/snapshot\.4: it cannot be read/)
    const accepted = await recoverTest(disk, { acceptDamage: true })
    expect(accepted).toMatchObject({ zxid: 0n, damageAccepted: true })
    expect(await names()).toEqual(['damaged.snapshot.4', 'snapshot.0'])
    expect(types(await recoverTest(disk))).toEqual(['snapshotLoaded'])
  })

  test('stops recovery if the records before it may be of another history', async () => {
    // It came from a leader, and power failed before the older files were removed.
    const atStart = 0x200000000
    await snapshotAt(atStart)
    await writeLog(disk, [[0x300000001, 0x300000002]])
    expect(applied(await recoverTest(disk))).toEqual([0x300000001, 0x300000002])
    await change(snapshotPath(atStart), (bytes) => void (bytes[40] = 77))
    await expect(recoverTest(disk)).rejects.toThrow(
      /log\.300000001: it continues .*snapshot\.200000000, which cannot be read/,
    )
    const accepted = await recoverTest(disk, { acceptDamage: true })
    expect(accepted).toMatchObject({ zxid: 4n, damageAccepted: true })
  })

  test('is no loss if a log leads up to it, even across an epoch', async () => {
    await writeLog(disk, [[0x200000001]])
    await snapshotAt(0x200000001)
    await writeLog(disk, [[0x300000001]])
    await change(snapshotPath(0x200000001), (bytes) => void (bytes[40] = 77))
    expect(applied(await recoverTest(disk))).toEqual([0x200000001, 0x300000001])
  })

  test('stops recovery when there is no other', async () => {
    await change(snapshotPath(4), (bytes) => void (bytes[40] = 77))
    await change(snapshotPath(0), (bytes) => void (bytes[40] = 77))
    await expect(recoverTest(disk)).rejects.toThrow(/none of the 2 snapshots can be read/)
  })
})

test('a snapshot that had seen more than the logs hold stops recovery', async () => {
  const database = TestDatabase.fresh()
  database.lastZxid = 7n
  database.digestValue = 1n
  await writeSnapshot(disk, directory, database.source(3n))
  await writeLog(disk, [range(1, 5)])
  await expect(recoverTest(disk)).rejects.toThrow(/changes up to zxid 0x7, but the logs end at 0x5/)
  const accepted = await recoverTest(disk, { acceptDamage: true })
  // This is no state that ever existed: no server may lead with it.
  expect(accepted).toMatchObject({ zxid: 5n, lacksData: true, damageAccepted: true })
  expect(types(accepted)).toContain('snapshotAhead')
})

test('without a digest, it is the nodes that tell how far a snapshot reaches', async () => {
  const database = TestDatabase.fresh()
  database.putAt('/x', 7n)
  await writeSnapshot(disk, directory, {
    ...database.source(3n),
    finish: () => ({ zxid: 0n, digest: undefined }),
  })
  await writeLog(disk, [range(1, 5)])
  await expect(recoverTest(disk)).rejects.toThrow(/changes up to zxid 0x7, but the logs end at 0x5/)
})

describe('without a snapshot', () => {
  test('logs alone stop recovery, unless an empty start is trusted', async () => {
    await writeLog(disk, [range(1, 3)])
    await expect(recoverTest(disk)).rejects.toThrow(/log\.1: there are transaction logs, but no/)
    expect(applied(await recoverTest(disk, { trustEmptySnapshot: true }))).toEqual(range(1, 3))
  })

  test('logs that do not reach back to the start stop it even then', async () => {
    await writeLog(disk, [range(4, 6)])
    await expect(recoverTest(disk, { trustEmptySnapshot: true })).rejects.toThrow(RecoveryError)
  })
})

describe('a directory that should not be empty', () => {
  const permission = { directory: 'data', name: 'initialize' }
  const whenEmpty = { isUnexpected: true, permission }

  test('stops recovery, and nothing is written', async () => {
    await expect(recoverTest(disk, { whenEmpty })).rejects.toThrow('data/initialize')
    expect(await disk.list(directory)).toEqual([])
  })

  test('is distinguished from a new one if other servers have the data', async () => {
    const recovered = await recoverTest(disk, { whenEmpty, othersHaveIt: true })
    expect(recovered).toMatchObject({ isFresh: true, lacksData: true })
    expect(await disk.list(directory)).toEqual([])
  })

  test('counts as a new one, once, if a file says so', async () => {
    await disk.makeDirectory('data')
    await disk.put('data/initialize', new Uint8Array(0))
    const recovered = await recoverTest(disk, { whenEmpty })
    expect(recovered).toMatchObject({ isFresh: true, lacksData: false })
    expect(await disk.list('data')).toEqual([])
    expect(await recoverTest(disk, { whenEmpty })).toMatchObject({ isFresh: false })
  })
})

describe('something missing in the middle stops recovery', () => {
  test('a gap between the snapshot and the logs', async () => {
    await snapshotAt(0)
    await writeLog(disk, [range(3, 6)])
    await expect(recoverTest(disk)).rejects.toThrow(/log\.3: it starts at zxid 0x3/)
  })

  test('a log file that is gone', async () => {
    await snapshotAt(0)
    await writeLog(disk, [range(1, 3)])
    await writeLog(disk, [range(4, 6)])
    await writeLog(disk, [range(7, 9)])
    await disk.remove(logPath(4))
    await expect(recoverTest(disk)).rejects.toThrow(
      /log\.7: .*log\.1 ends at 0x3: the transactions in between/,
    )
    const accepted = await recoverTest(disk, { acceptDamage: true })
    expect(applied(accepted)).toEqual(range(1, 3))
    expect(await names()).toContain('damaged.log.7')
    expect((await recoverTest(disk)).zxid).toBe(3n)
  })

  test('an empty log named far ahead', async () => {
    await snapshotAt(0)
    await writeLog(disk, [range(1, 3)])
    await disk.put(logPath(9), new Uint8Array(0))
    await expect(recoverTest(disk)).rejects.toThrow(/log\.9: it starts at zxid 0x9/)
  })

  test('an older log that is blank, before a new epoch', async () => {
    await snapshotAt(0)
    const secondEpoch = 2 ** 32 + 1
    await writeLog(disk, [range(1, 3)])
    await writeLog(disk, [range(4, 6)])
    await writeLog(disk, [range(secondEpoch, secondEpoch + 2)])
    const sound = disk.content(logPath(4)).slice()
    await disk.put(logPath(4), new Uint8Array(sound.length))
    await expect(recoverTest(disk)).rejects.toThrow(
      /log\.100000001: it begins a new epoch, but .*log\.4 is damaged at byte 0/,
    )
    expect(disk.content(logPath(4))).toHaveLength(sound.length)
    await disk.put(logPath(4), sound)
    expect((await recoverTest(disk)).zxid).toBe(BigInt(secondEpoch + 2))
  })

  test('but not a log without a byte, which Apache ZooKeeper may have left', async () => {
    await snapshotAt(0)
    const secondEpoch = 2 ** 32 + 1
    await writeLog(disk, [range(1, 3)])
    await disk.put(logPath(4), new Uint8Array(0))
    await writeLog(disk, [range(secondEpoch, secondEpoch + 2)])
    expect((await recoverTest(disk)).zxid).toBe(BigInt(secondEpoch + 2))
  })

  test('the same zxid twice', async () => {
    await snapshotAt(0)
    await writeLog(disk, [range(1, 5)])
    await writeLog(disk, [range(4, 8)])
    await expect(recoverTest(disk)).rejects.toThrow(/log\.4: it contains zxid 0x4 again/)
  })
})

describe('snapshots and logs in two directories', () => {
  const elsewhere = 'log/version-2'

  test('stay apart', async () => {
    await recoverTest(disk, { logDir: elsewhere })
    await disk.makeDirectory(elsewhere)
    const log = new TxnLog(disk, { directory: elsewhere, preAllocBytes: 0 })
    await log.append(batchOf([1]))
    await log.close()
    expect((await recoverTest(disk, { logDir: elsewhere })).zxid).toBe(1n)
  })

  test('are refused when a file lies in the wrong one', async () => {
    await snapshotAt(0)
    await writeLog(disk, [[1]])
    await expect(recoverTest(disk, { logDir: elsewhere })).rejects.toThrow(
      /log\.1: transaction logs belong in log\/version-2/,
    )
    await expect(recoverTest(disk, { logDir: directory, snapshotDir: 'other' })).rejects.toThrow(
      /snapshot\.0: snapshots belong in other/,
    )
  })
})

describe('the newest log', () => {
  beforeEach(async () => {
    await snapshotAt(0)
    await writeLog(disk, [range(1, 3), range(4, 5)])
  })

  test('may be empty, short or zeros: it is removed, and the next start finds nothing to say', async () => {
    for (const bytes of [0, 7, 16, 5000]) {
      await disk.put(logPath(6), new Uint8Array(bytes))
      const recovered = await recoverTest(disk)
      expect(recovered.zxid).toBe(5n)
      expect(types(recovered)).toContain('emptyLogRemoved')
      expect(await names()).toEqual(['log.1', 'snapshot.0'])
    }
  })

  test('may have a header and nothing else', async () => {
    const header = disk.content(logPath(1)).slice(0, 16)
    await disk.put(logPath(6), header)
    expect((await recoverTest(disk)).zxid).toBe(5n)
  })

  test('may end in zeros', async () => {
    await change(logPath(1), (bytes) => Buffer.concat([bytes, Buffer.alloc(2_000_000)]))
    expect(types(await recoverTest(disk))).toEqual(['snapshotLoaded', 'logReplayed'])
  })

  test('with another magic number stops recovery', async () => {
    await change(logPath(1), (bytes) => void bytes.write('ZKXX'))
    await expect(recoverTest(disk)).rejects.toThrow(/does not start like a transaction log/)
  })

  test('cut anywhere keeps every record before the cut, and ends properly afterwards', async () => {
    const whole = Buffer.from(disk.content(logPath(1)))
    for (let length = 16; length < whole.length; length++) {
      for (const padding of [0, 3000]) {
        await disk.put(
          logPath(1),
          Buffer.concat([whole.subarray(0, length), Buffer.alloc(padding)]),
        )
        const first = await recoverTest(disk)
        const records = Math.min(5, Math.floor((length - 16) / recordBytes))
        expect(first.zxid, `cut at ${length}`).toBe(BigInt(records))
        const second = await recoverTest(disk)
        expect(second.zxid).toBe(first.zxid)
        expect(types(second)).not.toContain('tornTail')
      }
    }
  })

  test('with any byte changed either keeps everything or stops recovery', async () => {
    const whole = Buffer.from(disk.content(logPath(1)))
    await changeEachByte(whole, 16 + 5 * recordBytes, 5n)
  })

  test('damaged, and accepted so, keeps what stands before the damage', async () => {
    await change(logPath(1), (bytes) => void (bytes[16 + 2 * recordBytes + 20] = 99))
    await expect(recoverTest(disk)).rejects.toThrow(
      /log\.1: it is damaged at byte 114, after zxid 0x2: a later write began at byte 163/,
    )
    const accepted = await recoverTest(disk, { acceptDamage: true })
    expect(accepted).toMatchObject({ zxid: 2n, damageAccepted: true })
    expect(await names()).toEqual(['damaged.log.1', 'log.1', 'snapshot.0'])
    expect((await recoverTest(disk)).zxid).toBe(2n)
  })

  test('damaged only where the snapshot holds everything is reported and accepted', async () => {
    await snapshotAt(5)
    await change(logPath(1), (bytes) => void (bytes[16 + 2 * recordBytes + 20] = 99))
    const recovered = await recoverTest(disk)
    expect(recovered.zxid).toBe(5n)
    expect(types(recovered)).toContain('damageBelowSnapshot')
  })

  test('damaged in the last record that the snapshot holds, and the next, is not passed', async () => {
    await snapshotAt(4)
    for (const record of [3, 4])
      await change(logPath(1), (bytes) => void (bytes[16 + record * recordBytes + 20] = 99))
    await expect(recoverTest(disk)).rejects.toThrow(
      /log\.1: it is damaged at byte 163, after zxid 0x3/,
    )
  })

  test('damaged in the last record that the snapshot holds, and not after it, is accepted', async () => {
    await snapshotAt(5)
    await change(logPath(1), (bytes) => void (bytes[16 + 4 * recordBytes + 20] = 99))
    expect((await recoverTest(disk)).zxid).toBe(5n)
  })
})

/** Changes one byte of a log at a time: each start reaches `zxid`, or is refused. */
async function changeEachByte(log: Buffer, end: number, zxid: bigint): Promise<void> {
  for (let at = 0; at < end; at++) {
    const changed = Buffer.from(log)
    changed[at] = changed[at]! ^ 0x10
    await disk.put(logPath(1), changed)
    const reached = await recoverTest(disk).then(
      (recovered) => recovered.zxid,
      (error: unknown) => {
        expect(error, `byte ${at}`).toBeInstanceOf(RecoveryError)
        return zxid
      },
    )
    expect(reached, `byte ${at}`).toBe(zxid)
  }
}

/** As Apache writes it: zeros behind the last record, and no mark. */
async function writeApacheLog(zxids: number[], bodyBytes: number): Promise<Buffer> {
  await writeLog(disk, [zxids], { bodyBytes })
  const bytes = Buffer.from(disk.content(logPath(zxids[0]!))).subarray(0, -24)
  const padded = Buffer.concat([bytes, Buffer.alloc(5000)])
  await disk.put(logPath(zxids[0]!), padded)
  return padded
}

test('a log of Apache with any byte changed either keeps everything or stops recovery', async () => {
  await snapshotAt(0)
  const whole = await writeApacheLog(range(1, 3), 4)
  const last = 16 + 3 * recordBytes - 1
  await changeEachByte(whole, last + 1, 3n)
})

test('an older log with a torn end does no harm if the next one continues from there', async () => {
  await snapshotAt(0)
  await writeLog(disk, [range(1, 5)])
  await change(logPath(1), (bytes) => bytes.subarray(0, 16 + 3 * recordBytes + 20))
  await writeLog(disk, [range(4, 8)])
  const recovered = await recoverTest(disk)
  expect(applied(recovered)).toEqual(range(1, 8))
  expect(types(recovered)).toContain('unreadableRestPassed')
})

test('an older log that ends badly stops recovery when something is missing after it', async () => {
  await snapshotAt(0)
  await writeLog(disk, [range(1, 5)])
  await writeLog(disk, [range(6, 8)])
  await change(logPath(1), (bytes) => void (bytes[16 + 3 * recordBytes + 20] = 99))
  await expect(recoverTest(disk)).rejects.toThrow(/log\.6: .*log\.1 cannot be read beyond byte 163/)
})

test('a new epoch after a damaged log stops recovery, because the content of the log is unknown', async () => {
  await snapshotAt(0)
  await writeLog(disk, [range(1, 5)])
  await writeLog(disk, [[0x100000001, 0x100000002]])
  await change(logPath(1), (bytes) => void (bytes[0] = 99))
  await expect(recoverTest(disk)).rejects.toThrow(/log\.100000001: .*log\.1 is damaged at byte 0/)
})

test('a new epoch may begin after a log whose last write was never finished', async () => {
  await snapshotAt(0)
  const whole = await writeApacheLog(range(1, 3), 4)
  await disk.put(logPath(1), whole.subarray(0, 16 + 3 * recordBytes - 20))
  await writeLog(disk, [[0x100000001, 0x100000002]])
  const recovered = await recoverTest(disk)
  expect(applied(recovered)).toEqual([1, 2, 0x100000001, 0x100000002])
  expect(types(recovered)).toContain('unreadableRestPassed')
})
