import { expect, test } from 'vitest'
import { MemoryDisk } from './memory-disk.ts'

/** The same numbers each time. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return (state >>> 8) % below
  }
}

const path = '/d/f'

test('copies share nothing that one of them changes later', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const draw = numbers(seed)
    const disk = new MemoryDisk({ forgetful: true })
    await disk.put(path, new Uint8Array(0))
    // Each disk beside what its file must hold.
    const disks: { disk: MemoryDisk; content: number[]; durable: number[] }[] = [
      { disk, content: [], durable: [] },
    ]
    for (let step = 0; step < 60; step++) {
      const one = disks[draw(disks.length)]!
      const handle = await one.disk.openWrite(path)
      const what = draw(10)
      if (what < 4) {
        const at = draw(2) === 0 ? one.content.length : draw(one.content.length + 3)
        const bytes = Uint8Array.from({ length: 1 + draw(9) }, () => draw(256))
        await handle.write(bytes, at)
        while (one.content.length < at) one.content.push(0)
        one.content.splice(at, bytes.length, ...bytes)
      } else if (what === 4) {
        const size = draw(one.content.length + 3)
        await handle.setSize(size)
        one.content.length = Math.min(size, one.content.length)
        while (one.content.length < size) one.content.push(0)
      } else if (what === 5) {
        await handle.sync()
        one.durable = [...one.content]
      } else if (what === 6) {
        one.disk.crash()
        one.content = [...one.durable]
      } else if (what === 7) {
        disks.push({
          ...one,
          disk: one.disk.copy(),
          durable: [...one.content],
          content: [...one.content],
        })
      } else if (what === 8) {
        disks.push({
          ...one,
          disk: one.disk.afterCrash(),
          content: [...one.durable],
          durable: [...one.durable],
        })
      }
      for (const each of disks) {
        const where = `seed ${seed}, step ${step}`
        expect([...each.disk.content(path)], where).toEqual(each.content)
        expect([...each.disk.durableContent(path)!], where).toEqual(each.durable)
      }
      // Disks in one state hold the same.
      const everything = (): boolean => true
      for (const other of disks) {
        if (other.disk.state(everything) !== one.disk.state(everything)) continue
        expect(other.content).toEqual(one.content)
      }
    }
  }
})

test('a write of the present value changes nothing', async () => {
  const disk = new MemoryDisk()
  await disk.put(path, Uint8Array.of(1, 2, 3))
  const before = disk.state(() => true)
  const handle = await disk.openWrite(path)
  await handle.write(Uint8Array.of(2, 3), 1)
  expect(disk.state(() => true)).toBe(before)
  await handle.write(Uint8Array.of(2, 4), 1)
  expect(disk.state(() => true)).not.toBe(before)
})
