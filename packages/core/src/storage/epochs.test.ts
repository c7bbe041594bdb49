import { decodeText, encodeText } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { MemoryDisk } from './disk/memory-disk.ts'
import { Epochs } from './epochs.ts'
import { epochStart } from './zxid.ts'

const directory = 'data/version-2'

async function diskWith(files: Record<string, string>): Promise<MemoryDisk> {
  const disk = new MemoryDisk({ forgetful: true })
  await disk.makeDirectory(directory)
  for (const [name, text] of Object.entries(files)) {
    await disk.put(`${directory}/${name}`, encodeText(text))
  }
  return disk
}

const load = (disk: MemoryDisk, historyEpoch = 0n): Promise<Epochs> =>
  Epochs.load(disk, directory, epochStart(historyEpoch) + (historyEpoch === 0n ? 0n : 5n))

function textOf(disk: MemoryDisk, name: string): string {
  const bytes = disk.content(`${directory}/${name}`)
  return decodeText(bytes, 0, bytes.length)
}

test('a server without a past has accepted nothing', async () => {
  const disk = await diskWith({})
  expect(await load(disk)).toMatchObject({ accepted: 0n, current: 0n })
  expect([textOf(disk, 'acceptedEpoch'), textOf(disk, 'currentEpoch')]).toEqual(['0', '0'])
})

test('files that are missing follow from the history', async () => {
  const disk = await diskWith({})
  expect(await load(disk, 4n)).toMatchObject({ accepted: 4n, current: 4n })
})

test('a restart reads the epochs that were set', async () => {
  const disk = await diskWith({})
  const epochs = await load(disk)
  await epochs.setAccepted(7n)
  await epochs.setCurrent(6n)
  disk.crash()
  expect(await load(disk)).toMatchObject({ accepted: 7n, current: 6n })
})

test('a crash at any call leaves the epoch before or the one after, and a server that starts', async () => {
  for (const name of ['setAccepted', 'setCurrent'] as const) {
    for (const keepsName of [false, true]) {
      for (let failing = 1; failing < 20; failing++) {
        const disk = await diskWith({ acceptedEpoch: '5', currentEpoch: '3' })
        const epochs = await load(disk, 3n)
        const [before, after] = name === 'setAccepted' ? [5n, 6n] : [3n, 4n]
        let calls = 0
        disk.fault = () => (++calls >= failing ? 'EIO' : undefined)
        const isDone = await epochs[name](after).then(
          () => true,
          () => false,
        )
        disk.fault = undefined
        disk.crash(
          (_path, bytes) => [[0, bytes.length]],
          () => keepsName,
        )
        const again = await load(disk, 3n)
        const found = name === 'setAccepted' ? again.accepted : again.current
        expect(isDone ? [after] : [before, after]).toContain(found)
        if (isDone) break
        expect(failing).toBeLessThan(19)
      }
    }
  }
})

test('the late write of an earlier role does not overwrite a later one', async () => {
  const disk = await diskWith({ acceptedEpoch: '1', currentEpoch: '1' })
  const epochs = await load(disk, 1n)
  const older = epochs.setAccepted(2n)
  const newer = epochs.setAccepted(3n)
  await Promise.all([older, newer])
  disk.crash()
  expect(await load(disk, 1n)).toMatchObject({ accepted: 3n })
})

test('a failed write does not keep the next from succeeding', async () => {
  const disk = await diskWith({ acceptedEpoch: '1', currentEpoch: '1' })
  const epochs = await load(disk, 1n)
  disk.fault = (call) => (call === 'write' ? 'ENOSPC' : undefined)
  await expect(epochs.setAccepted(2n)).rejects.toThrow('ENOSPC')
  expect(epochs.accepted).toBe(1n)
  disk.fault = undefined
  await epochs.setAccepted(2n)
  expect(epochs.accepted).toBe(2n)
})

test('a crash after a history was taken over, and before its epoch was, is mended', async () => {
  const disk = await diskWith({ acceptedEpoch: '4', currentEpoch: '2' })
  expect(await load(disk, 4n)).toMatchObject({ accepted: 4n, current: 4n })
  expect(textOf(disk, 'currentEpoch')).toBe('4')
})

test('of a history taken over in part, only the epoch of its last transaction is entered', async () => {
  const disk = await diskWith({ acceptedEpoch: '5', currentEpoch: '2' })
  expect(await load(disk, 3n)).toMatchObject({ accepted: 5n, current: 3n })
})

test('an epoch that was written and not renamed says that its history is whole', async () => {
  const files = { acceptedEpoch: '5', currentEpoch: '2', 'currentEpoch.tmp': '5' }
  expect(await load(await diskWith(files), 3n)).toMatchObject({ current: 5n })
})

test('the rest of a torn write is ignored', async () => {
  for (const torn of ['', '1']) {
    const files = { acceptedEpoch: '12', currentEpoch: '10', 'currentEpoch.tmp': torn }
    expect(await load(await diskWith(files), 12n)).toMatchObject({ current: 12n })
  }
})

test.each([
  ['a history that nobody promised to join', { acceptedEpoch: '2', currentEpoch: '2' }, 3n],
  ['an epoch entered and not accepted', { acceptedEpoch: '2', currentEpoch: '3' }, 1n],
  ['a file without a number', { acceptedEpoch: 'two', currentEpoch: '1' }, 1n],
  ['an empty file', { acceptedEpoch: '2', currentEpoch: '' }, 1n],
])('%s keeps the server from starting', async (_, files, historyEpoch) => {
  await expect(load(await diskWith(files), historyEpoch)).rejects.toMatchObject({
    name: 'EpochError',
  })
})

test('promises are never taken back', async () => {
  const epochs = await load(await diskWith({ acceptedEpoch: '5', currentEpoch: '3' }), 3n)
  await expect(epochs.setAccepted(4n)).rejects.toThrow('never goes back')
  await expect(epochs.setCurrent(6n)).rejects.toThrow('accepted before it is entered')
})

test('an epoch that a killed process left in the cache alone is durable before it counts', async () => {
  const disk = await diskWith({ acceptedEpoch: '3', currentEpoch: '2' })
  const file = await disk.create(`${directory}/currentEpoch.tmp`)
  await file.write(encodeText('3'), 0)
  await file.sync()
  await disk.rename(`${directory}/currentEpoch.tmp`, `${directory}/currentEpoch`)
  expect(await load(disk, 2n)).toMatchObject({ current: 3n })
  disk.crash()
  expect(await load(disk, 2n)).toMatchObject({ current: 3n })
})

test('absurd promises are recognized, and revoked on request', async () => {
  const disk = await diskWith({ acceptedEpoch: '2147483392', currentEpoch: '4' })
  expect(await load(disk, 4n)).toMatchObject({ accepted: 2_147_483_392n, isAbsurd: true })
  await Epochs.load(disk, directory, epochStart(4n) + 5n, { resetsAccepted: true })
  disk.crash()
  expect(await load(disk, 4n)).toMatchObject({ accepted: 4n, current: 4n, isAbsurd: false })
  // As many leaders may have come to nothing while a server was there.
  const late = await diskWith({ acceptedEpoch: '65540', currentEpoch: '4' })
  expect((await load(late, 4n)).isAbsurd).toBe(false)
})
