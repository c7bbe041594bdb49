/** The functions of `node:crypto` and `crypto`, with the random numbers of a simulated program. */
import type { VirtualProcess } from './virtual-process.ts'

export function bytes(program: VirtualProcess, size: number): Buffer {
  return fill(program, Buffer.alloc(size))
}

export function fill<T extends NodeJS.ArrayBufferView>(program: VirtualProcess, into: T): T {
  const view = new Uint8Array(into.buffer, into.byteOffset, into.byteLength)
  for (let i = 0; i < view.length; i++) view[i] = Math.floor(program.random() * 256)
  return into
}

/** At least `least`, less than `most`. */
export function int(program: VirtualProcess, least: number, most: number): number {
  return least + Math.floor(program.random() * (most - least))
}

/** Version 4. */
export function uuid(program: VirtualProcess): string {
  const all = bytes(program, 16)
  all[6] = (all[6]! & 0x0f) | 0x40
  all[8] = (all[8]! & 0x3f) | 0x80
  const hex = all.toString('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}

/** Returns the bytes, or passes them to the callback a moment later. */
export function orCallback<T>(program: VirtualProcess, callback: unknown, draw: () => T): unknown {
  const value = draw()
  if (typeof callback !== 'function') return value
  program.timer(0, () => void (callback as (error: null, value: T) => unknown)(null, value))
  return undefined
}
