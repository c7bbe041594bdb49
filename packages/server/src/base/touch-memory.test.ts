import { expect, test } from 'vitest'
import { touchMemory } from './touch-memory.ts'

test('touched memory is all zeros, and the callback runs', async () => {
  const memories = [new Uint8Array(1 << 20), new Uint8Array(4096)]
  await Promise.all(
    memories.map((memory) => new Promise<void>((resolve) => touchMemory(memory, resolve))),
  )
  for (const memory of memories) expect(memory.every((byte) => byte === 0)).toBe(true)
})
