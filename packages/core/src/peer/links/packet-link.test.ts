import { packetOf, QuorumPacket, Writer } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { PacketLink } from './packet-link.ts'

function openLink(): { link: PacketLink; closes: () => number } {
  let closes = 0
  const link = new PacketLink({ flushSoon() {}, unsentBytes: 0, close: () => closes++ }, 0)
  return { link, closes: () => closes }
}

function encoded(packet: QuorumPacket): Uint8Array {
  const out = new Writer()
  QuorumPacket.write(out, packet)
  return out.written().slice()
}

const ping = encoded(packetOf('ping', 1n))
const malformed = new Uint8Array(64).fill(0x6d)

test('a malformed packet closes its connection when it arrives', () => {
  const { link, closes } = openLink()
  link.onPacket(() => {})
  link.received(malformed, 1)
  expect(closes()).toBe(1)
  expect(link.brokenBy?.message).toMatch(/bytes, where/)
})

test('a malformed packet that arrives while the connection is paused closes it at resume', () => {
  const { link, closes } = openLink()
  const lost: (Error | undefined)[] = []
  link.onClosed = () => lost.push(link.brokenBy)
  let packets = 0
  link.onPacket(() => {
    packets++
    link.pause()
  })
  link.received(ping, 1)
  link.received(malformed, 2)
  expect([packets, closes()]).toEqual([1, 0])

  link.resume()

  expect([packets, closes()]).toEqual([1, 1])
  expect(lost.map((fault) => fault?.message)).toEqual([expect.stringMatching(/bytes, where/)])
})

test('a malformed packet that arrives before anyone listens closes the connection then', () => {
  const { link, closes } = openLink()
  link.received(malformed, 1)
  expect(closes()).toBe(0)
  link.onPacket(() => {})
  expect(closes()).toBe(1)
})

test('an error that is not the fault of the other server is not hidden', () => {
  const { link } = openLink()
  link.onPacket(() => {
    throw new TypeError('a bug of ours')
  })
  expect(() => link.received(ping, 1)).toThrow('a bug of ours')
})
