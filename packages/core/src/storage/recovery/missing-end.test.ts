/** The newest log is cut, emptied, zeroed or gone: the next start says so, and does not serve. */
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { batchOf, directory, range, recoverTest } from '../../../test/support/storage.ts'
import { MemoryDisk, type Tear } from '../disk/memory-disk.ts'
import { extentName, readExtent, writeExtent } from '../log/extent.ts'
import { truncateAfter } from '../log/truncate.ts'
import { TxnLog } from '../log/txn-log.ts'
import { RecoveryError } from './recovery-error.ts'

let disk: MemoryDisk
const newestLog = `${directory}/log.65`

beforeEach(() => {
  disk = new MemoryDisk({ forgetful: true })
})

/** One life of a server: it recovers, logs up to a transaction, and stops in one way or the other. */
async function live(
  upTo: number,
  { isKilled = false, forceSync = true }: { isKilled?: boolean; forceSync?: boolean } = {},
): Promise<void> {
  const { zxid } = await recoverTest(disk)
  const options = { directory, preAllocBytes: 4096, forceSync, lastZxid: zxid }
  const log = new TxnLog(disk, { ...options, extentDirectory: directory })
  for (let at = Number(zxid) + 1; at <= upTo; at++) await log.append(batchOf([at]))
  await (isKilled ? log.noteExtent() : log.close())
}

async function edit(path: string, change: (bytes: Buffer) => Buffer): Promise<void> {
  await disk.put(path, change(Buffer.from(disk.content(path))))
}

const damages: Record<string, () => Promise<void>> = {
  'cut to half': () => edit(newestLog, (bytes) => bytes.subarray(0, recordsEnd(bytes) / 2)),
  'cut in its last record': () =>
    edit(newestLog, (bytes) => bytes.subarray(0, recordsEnd(bytes) - 9)),
  'cut between two records': () =>
    edit(newestLog, (bytes) => bytes.subarray(0, recordsEnd(bytes) - recordBytes)),
  'zeros from the middle on': () =>
    edit(newestLog, (bytes) => bytes.fill(0, Math.floor(recordsEnd(bytes) / 2))),
  'cut to its header': () => edit(newestLog, (bytes) => bytes.subarray(0, 16)),
  'cut to 0 bytes': () => edit(newestLog, (bytes) => bytes.subarray(0, 0)),
  zeroed: () => edit(newestLog, (bytes) => bytes.fill(0)),
  gone: () => disk.remove(newestLog),
}
const recordBytes = 49

/** Behind the last record, where the end mark or zeros begin. */
function recordsEnd(bytes: Buffer): number {
  let end = 16
  while (end + recordBytes <= bytes.length && bytes.readInt32BE(end + 8) === recordBytes - 13) {
    end += recordBytes
  }
  return end
}

describe.each(Object.keys(damages))('a newest log that is %s', (what) => {
  test.each([false, true])('does not start a server that had been killed: %s', async (isKilled) => {
    await live(100)
    await live(150, { isKilled })
    await damages[what]!()
    const before = await contents()
    await expect(recoverTest(disk)).rejects.toThrow(/zxid 0x[0-9a-f]+, but transactions up to 0x96/)
    expect(await contents(), 'nothing was changed').toEqual(before)
  })

  test("is accepted once with the operator's permission", async () => {
    await live(100)
    await live(150)
    await damages[what]!()
    const accepted = await recoverTest(disk, { acceptDamage: true })
    expect(accepted.zxid).toBeLessThan(150n)
    expect(accepted.zxid).toBeGreaterThanOrEqual(100n)
    const again = await recoverTest(disk)
    expect(again.zxid).toBe(accepted.zxid)
  })

  test('does not stop a server whose leader has the missing data, but the server must not vote', async () => {
    await live(100)
    await live(150)
    await damages[what]!()
    for (let start = 0; start < 2; start++) {
      const recovered = await recoverTest(disk, { othersHaveIt: true })
      expect(recovered.lacksData).toBe(true)
      expect(recovered.events.map(({ type }) => type)).toContain('endMissing')
    }
  })

  test('is reported and accepted if nothing had been synced', async () => {
    await live(100, { forceSync: false })
    await live(150, { forceSync: false })
    await damages[what]!()
    const { events, lacksData } = await recoverTest(disk)
    expect(events.map(({ type }) => type)).toContain('unsyncedLost')
    expect(lacksData).toBe(false)
  })
})

async function contents(): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const { name } of await disk.list(directory)) {
    found[name] = Buffer.from(disk.content(`${directory}/${name}`)).toString('hex')
  }
  return found
}

test('a directory that lost all logs and snapshots does not count as new', async () => {
  await live(100)
  for (const { name } of await disk.list(directory)) {
    if (name !== extentName) await disk.remove(`${directory}/${name}`)
  }
  await expect(recoverTest(disk)).rejects.toThrow('transactions up to 0x64')
  expect(await recoverTest(disk, { othersHaveIt: true })).toMatchObject({ lacksData: true })
})

test('a lost log is noticed by its note', async () => {
  await live(100)
  await live(150, { isKilled: true })
  await disk.remove(newestLog)
  const log = 0x65n
  const note = async (isClosed: boolean): Promise<void> => {
    const noted = await readExtent(disk, directory)
    const extent = { zxid: 100n, log, isClosed, isSynced: true }
    await writeExtent(disk, directory, extent, { newest: noted, isDurable: true })
  }
  await note(false)
  await expect(recoverTest(disk)).rejects.toThrow('log.65 was in use')
  await note(true)
  expect(await recoverTest(disk)).toMatchObject({ zxid: 100n, lacksData: false })
})

test('a note that power failed in the middle of leaves the one before it', async () => {
  for (let bytes = 0; bytes <= 512; bytes += 7) {
    disk = new MemoryDisk({ forgetful: true })
    await live(100)
    const noted = await readExtent(disk, directory)
    const extent = { zxid: 90n, log: undefined, isClosed: true, isSynced: true }
    await writeExtent(disk, directory, extent, { newest: noted, isDurable: false })
    disk.crash(() => [[0, bytes]])
    expect([90n, 100n]).toContain((await readExtent(disk, directory))?.zxid)
  }
})

test('a directory without a note, or with one that cannot be read, starts and says so', async () => {
  for (const text of [undefined, '', 'zabra-extent 1 zxid=0']) {
    disk = new MemoryDisk()
    await live(100)
    if (text === undefined) await disk.remove(`${directory}/${extentName}`)
    else await disk.put(`${directory}/${extentName}`, Buffer.from(text))
    const { zxid, events } = await recoverTest(disk)
    expect(zxid).toBe(100n)
    expect(events.map(({ type }) => type)).toContain('extentUnknown')
    expect(await readExtent(disk, directory)).toMatchObject({ zxid: 100n })
  }
})

test('a broken link counts as a log', async () => {
  await live(100)
  disk.fault = (call, path) =>
    call === 'openRead' && path.endsWith('log.1') ? 'ENOENT' : undefined
  await expect(recoverTest(disk)).rejects.toThrow(/log\.1: it is a link to a missing file/)
})

test('a log that is cut off on purpose is not missed, wherever power fails meanwhile', async () => {
  for (let calls = 0; ; calls++) {
    disk = new MemoryDisk({ forgetful: true })
    await live(100)
    const { zxid } = await recoverTest(disk)
    const options = { directory, preAllocBytes: 4096, lastZxid: zxid, extentDirectory: directory }
    const log = new TxnLog(disk, options)
    await log.append(batchOf(range(101, 150)))
    await log.close()
    let left = calls
    disk.fault = () => (left-- > 0 ? undefined : 'EIO')
    const cut = log
      .rebase(40n)
      .then(() => truncateAfter(disk, { snapshotDir: directory, logDir: directory }, 40n))
    const isDone = await cut.then(
      () => true,
      () => false,
    )
    disk.fault = undefined
    disk.crash(() => [])
    const recovered = await recoverTest(disk)
    expect([40n, 100n, 150n]).toContain(recovered.zxid)
    if (!isDone) continue
    expect(recovered.zxid).toBe(40n)
    return
  }
})

test('a note that comes late names no log that was cut off meanwhile', async () => {
  await live(100)
  const { zxid } = await recoverTest(disk)
  const options = { directory, preAllocBytes: 4096, lastZxid: zxid, extentDirectory: directory }
  const log = new TxnLog(disk, options)
  await log.append(batchOf(range(101, 150)))
  await log.close()
  await log.rebase(40n)
  await truncateAfter(disk, { snapshotDir: directory, logDir: directory }, 40n)
  await log.noteExtent()
  expect(await recoverTest(disk)).toMatchObject({ zxid: 40n, lacksData: false })
})

test('the note never claims what a loss of power takes', async () => {
  const tear: Tear = (_path, bytes) => [[0, bytes.length / 2]]
  const steps = fc.array(
    fc.constantFrom('append', 'append', 'note', 'roll', 'close', 'crash', 'kill'),
    { maxLength: 30 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      disk = new MemoryDisk({ forgetful: true })
      const start = async (): Promise<TxnLog> => {
        const { zxid } = await recoverTest(disk)
        const options = { directory, preAllocBytes: 4096, lastZxid: zxid }
        return new TxnLog(disk, { ...options, extentDirectory: directory })
      }
      let log = await start()
      for (const step of all) {
        if (step === 'append') await log.append(batchOf([Number(log.lastZxid) + 1]))
        if (step === 'note') await log.noteExtent()
        if (step === 'roll') log.roll()
        if (step === 'close') await log.close()
        if (step === 'crash') disk.crash(tear)
        if (step === 'crash' || step === 'kill') log = await start()
      }
    }),
    { numRuns: 300 },
  )
})

test('the refusal says what is missing and what can be done', async () => {
  await live(100)
  await live(150)
  await damages['cut to half']!()
  const refused = await recoverTest(disk).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(RecoveryError)
  expect((refused as Error).message).toBe(
    `${newestLog}: the logs end here, and the database at zxid 0x7c, but transactions up to 0x96 were ` +
      'durable: those in between are missing. The server does not start, because data could be lost. ' +
      'What to do: restore the missing files from a copy; or, if an older state is here on purpose or ' +
      'the missing transactions may be lost, start once with recovery.acceptDamage=true.',
  )
})
