/**
 * The names under which programs reach Node's clocks, timers and randomness. While simulations run,
 * each finds out which code calls it: a simulated program gets its own, all other code gets Node's.
 */
import console from 'node:console'
import crypto, { webcrypto } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import nodeTimers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { format, promisify } from 'node:util'
import { provideHost } from '@zabra/client/internal'
import { Patches } from './patch.ts'
import * as random from './random-bytes.ts'
import { watchRejections } from './rejections.ts'
import {
  startImmediate,
  startTimeout,
  timeoutSignal,
  VirtualTimer,
  wait,
  waitAgain,
  waitImmediate,
} from './timers.ts'
import { currentProgram, type VirtualProcess } from './virtual-process.ts'

type AnyFunction = (...args: readonly unknown[]) => unknown

let users = 0
let restore = (): void => {}

/** Redirects the globals to the running program, until the returned function is called. */
export function useVirtualGlobals(): () => void {
  if (users++ === 0) restore = install()
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    if (--users === 0) restore()
  }
}

function install(): () => void {
  const patches = new Patches()
  const stopWatching = watchRejections()
  const withdrawHost = provideHost(() => currentProgram()?.host)
  replaceTimers(patches)
  replaceClocks(patches)
  replaceTemporal(patches)
  replaceRandomness(patches)
  replaceConsole(patches)
  refuseSockets(patches)
  syncBuiltinESMExports()
  return () => {
    patches.undoAll()
    syncBuiltinESMExports()
    withdrawHost()
    stopWatching()
  }
}

/** A function that uses the program if one is running, and Node otherwise. */
function either(
  patches: Patches,
  target: object,
  key: PropertyKey,
  virtual: (program: VirtualProcess, args: readonly unknown[]) => unknown,
): void {
  patches.replace<AnyFunction>(
    target,
    key,
    (original) =>
      function (this: unknown, ...args: readonly unknown[]): unknown {
        const program = currentProgram()
        return program === undefined ? Reflect.apply(original, this, args) : virtual(program, args)
      },
  )
}

function replaceTimers(patches: Patches): void {
  for (const owner of [globalThis, nodeTimers]) {
    replaceTimer(patches, owner, 'setTimeout', (program, args) =>
      startTimeout(program, args, false),
    )
    replaceTimer(patches, owner, 'setInterval', (program, args) =>
      startTimeout(program, args, true),
    )
    replaceTimer(patches, owner, 'setImmediate', startImmediate)
    for (const key of ['clearTimeout', 'clearInterval', 'clearImmediate']) {
      patches.replace<AnyFunction>(owner, key, (original) => (timer: unknown) => {
        if (timer instanceof VirtualTimer) timer.close()
        else original(timer)
      })
    }
  }
  const options = (value: unknown): object => value ?? {}
  either(patches, timersPromises, 'setTimeout', (program, [ms, value, more]) =>
    wait(program, ms, value, options(more)),
  )
  either(patches, timersPromises, 'setImmediate', (program, [value, more]) =>
    waitImmediate(program, value, options(more)),
  )
  either(patches, timersPromises, 'setInterval', (program, [ms, value, more]) =>
    waitAgain(program, ms, value, options(more)),
  )
  const { scheduler } = timersPromises
  either(patches, scheduler, 'wait', (program, [ms, more]) =>
    wait(program, ms, undefined, options(more)),
  )
  either(patches, scheduler, 'yield', (program) => waitImmediate(program, undefined))
  either(patches, AbortSignal, 'timeout', (program, [ms]) => timeoutSignal(program, ms as number))
}

/** Adds the form that `promisify` uses. */
function replaceTimer(
  patches: Patches,
  owner: object,
  key: 'setTimeout' | 'setInterval' | 'setImmediate',
  virtual: (program: VirtualProcess, args: readonly unknown[]) => unknown,
): void {
  either(patches, owner, key, virtual)
  if (key === 'setInterval') return
  const timer = Reflect.get(owner, key) as object
  const promised = (program: VirtualProcess, args: readonly unknown[]): unknown =>
    key === 'setTimeout'
      ? wait(program, args[0], args[1], (args[2] as object | undefined) ?? {})
      : waitImmediate(program, args[0], (args[1] as object | undefined) ?? {})
  const original = Reflect.get(timer, promisify.custom) as AnyFunction
  Object.defineProperty(timer, promisify.custom, {
    configurable: true,
    value: (...args: readonly unknown[]) => {
      const program = currentProgram()
      return program === undefined ? original(...args) : promised(program, args)
    },
  })
}

function replaceClocks(patches: Patches): void {
  patches.replace<DateConstructor>(globalThis, 'Date', (original) => {
    const now = (): number => currentProgram()?.wallMs() ?? original.now()
    return new Proxy(original, {
      construct: (target, args, newTarget) => {
        const isNow = args.length === 0 && currentProgram() !== undefined
        return Reflect.construct(target, isNow ? [now()] : args, newTarget) as Date
      },
      apply: (target) => new target(now()).toString(),
      get: (target, key) => (key === 'now' ? now : (Reflect.get(target, key) as unknown)),
    })
  })
  either(patches, performance, 'now', (program) => program.nowMs())
  const nanos = (program: VirtualProcess): bigint => BigInt(Math.round(program.nowMs() * 1e6))
  const bigint = process.hrtime.bigint.bind(process.hrtime)
  either(patches, process, 'hrtime', (program, [before]) => {
    const [seconds = 0, rest = 0] = (before as [number, number] | undefined) ?? []
    const since = nanos(program) - BigInt(seconds) * 1_000_000_000n - BigInt(rest)
    return [Number(since / 1_000_000_000n), Number(since % 1_000_000_000n)]
  })
  Object.defineProperty(process.hrtime, 'bigint', {
    configurable: true,
    value: () => {
      const program = currentProgram()
      return program === undefined ? bigint() : nanos(program)
    },
  })
}

/** The used part of `Temporal`, which Node has from version 26 on. */
interface TemporalNames {
  readonly Instant: {
    fromEpochMilliseconds(ms: number): { toZonedDateTimeISO(zone: unknown): object }
  }
  readonly Now: { timeZoneId(): string }
}

function replaceTemporal(patches: Patches): void {
  const temporal = Reflect.get(globalThis, 'Temporal') as TemporalNames | undefined
  if (temporal === undefined) return
  const { Instant, Now } = temporal
  const instant = (program: VirtualProcess) => Instant.fromEpochMilliseconds(program.wallMs())
  const zoned = (program: VirtualProcess, [zone]: readonly unknown[]): object =>
    instant(program).toZonedDateTimeISO(zone ?? Now.timeZoneId())
  either(patches, Now, 'instant', instant)
  either(patches, Now, 'zonedDateTimeISO', zoned)
  for (const [key, convert] of [
    ['plainDateTimeISO', 'toPlainDateTime'],
    ['plainDateISO', 'toPlainDate'],
    ['plainTimeISO', 'toPlainTime'],
  ] as const)
    either(patches, Now, key, (program, args) => {
      const now = zoned(program, args)
      return Reflect.apply(Reflect.get(now, convert) as AnyFunction, now, [])
    })
}

function replaceRandomness(patches: Patches): void {
  either(patches, Math, 'random', (program) => program.random())
  for (const owner of [webcrypto, crypto]) either(patches, owner, 'randomUUID', random.uuid)
  // The function of the module calls this one.
  either(patches, webcrypto, 'getRandomValues', (program, [into]) =>
    random.fill(program, into as NodeJS.ArrayBufferView),
  )
  either(patches, crypto, 'randomBytes', (program, [size, callback]) =>
    random.orCallback(program, callback, () => random.bytes(program, size as number)),
  )
  either(patches, crypto, 'randomInt', (program, args) => {
    const callback = args.find((arg) => typeof arg === 'function')
    const [first, second] = args as readonly number[]
    const hasBoth = typeof second === 'number'
    return random.orCallback(program, callback, () =>
      hasBoth ? random.int(program, first!, second) : random.int(program, 0, first!),
    )
  })
}

/** Output of a program becomes part of its trace. */
function replaceConsole(patches: Patches): void {
  for (const owner of new Set([globalThis.console, console])) {
    for (const level of ['debug', 'info', 'log', 'warn', 'error'])
      either(patches, owner, level, (program, args) => program.say(format(...args)))
  }
}

function refuseSockets(patches: Patches): void {
  either(patches, Socket.prototype, 'connect', (program, args) => {
    throw program.refuse(`opens a socket${describeTarget(args)}`)
  })
}

/** Sockets accept a list of arguments, options, or a port. */
function describeTarget(args: readonly unknown[]): string {
  const [first, second] = args.flat() as readonly unknown[]
  if (typeof first === 'object' && first !== null) {
    const { host, port, path } = first as { host?: string; port?: number; path?: string }
    return ` to ${path ?? `${host ?? 'localhost'}:${port ?? '?'}`}`
  }
  return typeof second === 'string' ? ` to ${second}:${String(first)}` : ` to ${String(first)}`
}
