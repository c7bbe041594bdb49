import { ConnectResponse, Writer } from '@zabra/protocol'
import { expect, test } from 'vitest'
import type { Host, Stream, StreamEvents } from './host.ts'
import { ServerRotation } from './machine/server-rotation.ts'
import { SessionDriver } from './session-driver.ts'

/** The answer of a server without a quorum. */
function readOnlyGreeting(): Uint8Array {
  const writer = new Writer(64)
  writer.int(0)
  ConnectResponse.write(writer, {
    protocolVersion: 0,
    timeOut: 9000,
    sessionId: 1n,
    passwd: new Uint8Array(16),
    readOnly: true,
  })
  writer.intAt(0, writer.position - 4)
  return writer.written()
}

test('nothing of a query for a quorum is left when the session ends', () => {
  const streams: { readonly events: StreamEvents; isClosed: boolean }[] = []
  const timers = new Set<() => void>()
  const host: Host = {
    nowMs: () => 0,
    random: () => 0,
    timer: (_, callback) => {
      timers.add(callback)
      return () => timers.delete(callback)
    },
    defer: (callback) => callback(),
    open: (_, events): Stream => {
      const stream = { events, isClosed: false }
      streams.push(stream)
      const close = (): void => void (stream.isClosed = true)
      return { write: () => true, isFull: false, close }
    },
  }
  const settings = { timeoutMs: 9000, readOnly: true, renews: true }
  const rotation = new ServerRotation([{ host: 'a', port: 1 }], () => 0, 9000)
  const ignore = (): void => {}
  const events = {
    connected: ignore,
    frame: ignore,
    received: ignore,
    suspended: ignore,
    attemptFailed: ignore,
    expired: ignore,
  }
  const driver = new SessionDriver(host, settings, rotation, events, ignore)
  driver.start()
  const [connection] = streams
  connection!.events.opened()
  const greeting = readOnlyGreeting()
  connection!.events.received(greeting, greeting.length)
  driver.probe({ host: 'a', port: 1 })
  driver.probe({ host: 'a', port: 1 })
  streams[1]!.events.closed(undefined)
  driver.end()
  expect(streams.map(({ isClosed }) => isClosed)).toEqual([true, false, true])
  expect(timers.size).toBe(0)
})
