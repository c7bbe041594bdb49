import { ConnectRequest, ConnectResponse, Reader, ReplyHeader, Writer } from '@zabra/protocol'
import { expect, test } from 'vitest'
import type { ServerAddress } from '../host.ts'
import { ServerRotation } from './server-rotation.ts'
import { SessionMachine, type SessionSettings } from './session-machine.ts'

/** The random number below shuffles these to a, b, c. */
const servers: ServerAddress[] = ['a', 'c', 'b'].map((host) => ({ host, port: 1 }))
const password = new Uint8Array(16).fill(7)
const timeoutMs = 9000

/** A machine with a virtual environment: `log` records its actions, and time passes on demand. */
class World {
  nowMs = 0
  readonly log: string[] = []
  readonly written: Uint8Array[] = []
  readonly machine: SessionMachine
  onSuspended = (): void => {}
  private wakeMs = Infinity

  constructor(settings: Partial<SessionSettings> = {}, count = 3) {
    const random = (): number => 0.5
    const rotation = new ServerRotation(servers.slice(0, count), random, timeoutMs)
    const say = (text: string): void => void this.log.push(`${Math.round(this.nowMs)} ${text}`)
    this.machine = new SessionMachine(
      { timeoutMs, readOnly: false, renews: true, ...settings },
      rotation,
      {
        open: ({ host }) => say(`open ${host}`),
        write: (bytes) => {
          this.written.push(new Uint8Array(bytes))
          if (isPing(bytes)) say('ping')
          return true
        },
        drop: () => say('drop'),
        probe: ({ host }) => say(`probe ${host}`),
        wakeAt: (ms) => {
          this.wakeMs = ms
        },
      },
      {
        connected: ({ resumed }) => say(resumed ? 'resumed' : 'connected'),
        frame: (bytes, start) => say(`frame ${new Reader(bytes, start).int()}`),
        received: () => {},
        suspended: (_, expiresAtMs) => {
          say(`suspended until ${Math.round(expiresAtMs)}`)
          this.onSuspended()
        },
        attemptFailed: () => {},
        expired: () => say('expired'),
      },
    )
    this.machine.start(0)
  }

  /** Everything logged since the last time. */
  news(): string[] {
    return this.log.splice(0)
  }

  passUntil(ms: number): void {
    for (let turns = 0; this.wakeMs <= ms; turns++) {
      if (turns > 1000) throw new Error('it never rests')
      this.nowMs = Math.max(this.nowMs, this.wakeMs)
      this.wakeMs = Infinity
      this.machine.tick(this.nowMs)
    }
    this.nowMs = ms
  }

  /** Nothing runs in that time, as when a program is busy. */
  stallUntil(ms: number): void {
    this.nowMs = ms
  }

  open(): void {
    this.machine.opened(this.nowMs)
  }

  hear(bytes: Uint8Array): void {
    this.machine.received(bytes, bytes.length, this.nowMs)
  }

  connect(sessionId = 5n, readOnly = false): void {
    this.open()
    const response = { ...answer(sessionId), readOnly }
    this.hear(frame((writer) => ConnectResponse.write(writer, response)))
  }

  /** The server answers, with this zxid. */
  reply(xid: number, zxid: bigint): void {
    this.hear(frame((writer) => ReplyHeader.write(writer, { xid, zxid, err: 0 })))
  }

  lose(): void {
    this.machine.lost(this.nowMs)
  }

  setServers(...hosts: string[]): void {
    const others = hosts.map((host) => ({ host, port: 1 }))
    this.machine.setServers(others, this.nowMs)
  }

  get greeting(): ConnectRequest {
    return ConnectRequest.read(new Reader(this.written.at(-1)!, 4))
  }
}

function answer(sessionId: bigint): ConnectResponse {
  const timeOut = sessionId === 0n ? 0 : timeoutMs
  return { protocolVersion: 0, timeOut, sessionId, passwd: password, readOnly: false }
}

function frame(write: (writer: Writer) => void): Uint8Array {
  const writer = new Writer()
  writer.int(0)
  write(writer)
  writer.intAt(0, writer.position - 4)
  return writer.written()
}

const isPing = (bytes: Uint8Array): boolean =>
  bytes.length === 12 && new Reader(bytes, 4).int() === -2

test('the first attempt is immediate, and begins with a handshake', () => {
  const world = new World({ readOnly: true })
  expect(world.news()).toEqual(['0 open a'])
  world.open()
  expect(world.greeting).toMatchObject({ sessionId: 0n, timeOut: timeoutMs, readOnly: true })
})

test('silent servers share the time of a program for its first connection', () => {
  const world = new World({ connectMs: 1500 })
  world.open()
  world.news()
  world.passUntil(1200)
  expect(world.news()).toEqual([
    '500 drop',
    '510 open b',
    '1010 drop',
    expect.stringMatching(/^10\d\d open c$/),
  ])
})

test('a heartbeat follows a third of the timeout without a request', () => {
  const world = new World()
  world.connect()
  world.news()
  world.passUntil(2999)
  expect(world.news()).toEqual([])
  world.passUntil(3000)
  expect(world.news()).toEqual(['3000 ping'])
  world.reply(-2, 1n)
  world.passUntil(4000)
  world.machine.send(new Uint8Array(12), 1, 4000)
  world.passUntil(6999)
  expect(world.news()).toEqual([])
  world.passUntil(7000)
  expect(world.news()).toEqual(['7000 ping'])
})

test('the client leaves a server that is silent for two thirds of the timeout', () => {
  const world = new World()
  world.connect()
  world.news()
  world.passUntil(6100)
  expect(world.news()).toEqual([
    '3000 ping',
    '6000 drop',
    '6000 suspended until 9000',
    '6000 open b',
  ])
})

test('the negotiated timeout counts, not the requested one', () => {
  const world = new World({ timeoutMs: 90_000 })
  world.connect()
  world.news()
  world.passUntil(3000)
  expect(world.news()).toEqual(['3000 ping'])
})

test('a session is resumed with its id, its password and the last zxid', () => {
  const world = new World()
  world.connect(77n)
  world.reply(1, 0x100000002n)
  world.reply(2, 3n)
  world.lose()
  world.news()
  world.passUntil(100)
  world.open()
  expect(world.greeting).toMatchObject({
    sessionId: 77n,
    passwd: password,
    lastZxidSeen: 0x100000002n,
  })
  world.hear(frame((writer) => ConnectResponse.write(writer, answer(77n))))
  expect(world.news()).toContain('100 resumed')
})

test('a session counts as expired one timeout after the last message that the server certainly received', () => {
  const world = new World()
  world.connect()
  world.passUntil(1000)
  world.machine.send(new Uint8Array(12), 1, 1000)
  world.passUntil(2500)
  world.reply(1, 1n)
  expect(world.machine.aliveUntilMs).toBe(10_000)
  world.passUntil(2600)
  world.machine.send(new Uint8Array(12), 1, 2600)
  world.news()
  world.lose()
  expect(world.news()).toEqual(['2600 drop', '2600 suspended until 10000', '2600 open b'])
  world.passUntil(10_000)
  expect(world.news()).toContain('10000 expired')
  world.passUntil(20_000)
  world.open()
  expect(world.greeting.sessionId).toBe(0n)
})

test('a session that the server does not know has expired', () => {
  const world = new World()
  world.connect()
  world.lose()
  world.passUntil(10)
  world.news()
  world.connect(0n)
  expect(world.news()).toEqual(['10 drop', '10 expired', '10 open c'])
})

test('without renewal nothing happens after expiry', () => {
  const world = new World({ renews: false })
  world.connect()
  world.lose()
  world.passUntil(100_000)
  expect(world.news().at(-1)).toBe('9000 expired')
})

test('all servers are tried one after another, then again after a growing pause', () => {
  const world = new World()
  for (let i = 0; i < 9; i++) {
    world.lose()
    const opened = world.log.length
    while (!world.log.slice(opened).some((line) => line.includes('open')))
      world.passUntil(world.nowMs + 1)
  }
  const opens = world.news().filter((line) => line.includes('open'))
  expect(opens.map((line) => line.at(-1)).join('')).toBe('abcabcabca')
  const times = opens.map((line) => Number(line.split(' ')[0]))
  const waits = times.slice(1).map((time, index) => time - times[index]!)
  expect(waits).toEqual([10, 10, 75, 10, 10, 150, 10, 10, 300])
})

test('after short connections the pause grows only if they were useless', () => {
  const identityXid = -4
  const pauses = (xid: number): number[] => {
    const world = new World({}, 1)
    return [1, 2, 3].map(() => {
      world.connect()
      world.reply(xid, 1n)
      world.news()
      world.lose()
      const lostAtMs = world.nowMs
      while (!world.log.some((line) => line.includes('open'))) world.passUntil(world.nowMs + 1)
      return world.nowMs - lostAtMs
    })
  }
  expect(pauses(1)).toEqual([75, 75, 75])
  expect(pauses(identityXid)).toEqual([75, 150, 300])
})

test('a hanging attempt is given up in time to try the others', () => {
  const world = new World()
  world.passUntil(2100)
  expect(world.news()).toEqual(['0 open a', '2000 drop', '2010 open b'])
})

test('after a stall of the program, received bytes are read before the server is left', () => {
  const world = new World()
  world.connect()
  world.news()
  world.stallUntil(8000)
  world.passUntil(8010)
  expect(world.news()).toEqual(['8000 ping'])
  world.reply(-2, 1n)
  world.passUntil(8500)
  expect(world.news()).toEqual([])
  world.stallUntil(18_000)
  world.passUntil(18_200)
  expect(world.news()).toContain('18100 drop')
})

test('frames are passed on except heartbeats, however they are cut', () => {
  const world = new World()
  world.connect()
  world.news()
  const bytes = frame((writer) => ReplyHeader.write(writer, { xid: 9, zxid: 1n, err: 0 }))
  for (const byte of bytes) world.hear(new Uint8Array([byte]))
  world.reply(-2, 1n)
  expect(world.news()).toEqual(['0 frame 9'])
})

test('an invalid frame ends the connection, not the session', () => {
  const world = new World()
  world.connect()
  world.news()
  world.hear(new Uint8Array([255, 255, 255, 255]))
  expect(world.news().slice(0, 2)).toEqual(['0 drop', '0 suspended until 9000'])
})

test('a client of a server without a quorum looks for one with a quorum, and moves there', () => {
  const world = new World({ readOnly: true })
  world.connect(5n, true)
  world.news()
  world.passUntil(1000)
  expect(world.news()).toEqual(['100 probe b', '300 probe c', '700 probe a'])
  world.machine.foundQuorum(servers[1]!, 1000)
  expect(world.news()).toEqual(['1000 drop', '1000 suspended until 9000', '1000 open c'])
  // No other server knows such a session.
  world.open()
  expect(world.greeting.sessionId).toBe(0n)
})

test('a client of a server without a quorum looks for another one even without renewal', () => {
  const world = new World({ readOnly: true, renews: false })
  world.connect(5n, true)
  world.lose()
  world.passUntil(20_000)
  world.lose()
  world.news()
  world.passUntil(30_000)
  // Nothing has expired: no server knew of that session.
  expect(world.news().some((line) => line.includes('open'))).toBe(true)
  world.connect(6n)
  expect(world.news()).toContain('30000 connected')
})

test('an ended machine does nothing more', () => {
  const world = new World()
  world.connect()
  world.machine.end()
  world.news()
  world.passUntil(50_000)
  world.lose()
  expect(world.news()).toEqual([])
})

test('if all servers are too slow, they get more time in the next round', () => {
  const world = new World()
  const openings = (): number[] =>
    world
      .news()
      .filter((line) => line.includes('open'))
      .map((line) => parseInt(line, 10))
  world.passUntil(30_000)
  const at = openings()
  const waits = at.slice(1).map((ms, i) => ms - at[i]!)
  const inRound = (round: number): number => waits[3 * round]!
  expect(inRound(0)).toBeGreaterThanOrEqual(2000)
  expect(inRound(0)).toBeLessThan(2100)
  expect(inRound(1)).toBeGreaterThanOrEqual(4000)
  expect(inRound(2)).toBeGreaterThanOrEqual(6000)
  expect(inRound(2)).toBeLessThan(6100)
})

test('with a new list the connection stays if its server is in it', () => {
  const world = new World()
  world.connect()
  world.news()
  world.setServers('x', 'a')
  world.passUntil(1500)
  expect(world.news()).toEqual([])
  world.lose()
  expect(world.news()).toEqual(['1500 drop', '1500 suspended until 9000', '1500 open x'])
})

test('with a new list the session leaves a server that is not in it, and continues', () => {
  const world = new World()
  world.connect(77n)
  world.passUntil(2000)
  world.news()
  world.setServers('x')
  expect(world.news()).toEqual(['2000 drop', '2000 suspended until 9000', '2000 open x'])
  world.open()
  expect(world.greeting).toMatchObject({ sessionId: 77n, passwd: password })
})

test('a client that changes servers through new lists pauses in between', () => {
  const world = new World()
  world.connect()
  world.setServers('x')
  world.news()
  world.passUntil(200)
  expect(world.news()).toEqual(['75 open x'])
})

test('an attempt at a removed server is given up', () => {
  const world = new World()
  world.open()
  world.news()
  world.setServers('x')
  world.passUntil(100)
  expect(world.news()).toEqual(['0 drop', '75 open x'])
})

test('an attempt at a server that stays continues, and the next is at a new one', () => {
  const world = new World()
  world.setServers('a', 'x')
  world.passUntil(2100)
  expect(world.news()).toEqual(['0 open a', '2000 drop', '2010 open x'])
})

test('a new list ends a pause, since its servers have not failed yet', () => {
  const world = new World({}, 1)
  for (let i = 0; i < 4; i++) {
    world.lose()
    while (!world.log.at(-1)!.includes('open')) world.passUntil(world.nowMs + 1)
  }
  world.lose()
  world.news()
  const { nowMs } = world
  world.setServers('x')
  world.passUntil(nowMs + 2)
  expect(world.news()).toEqual([`${nowMs} open x`])
})

test('setting servers in a listener of a loss makes one connection to one of them', () => {
  const world = new World()
  world.connect()
  world.passUntil(2000)
  world.news()
  world.onSuspended = () => world.setServers('x', 'y')
  world.lose()
  world.passUntil(2500)
  const opens = world.news().filter((line) => line.includes('open'))
  expect(opens).toEqual([expect.stringMatching(/^2000 open [xy]$/)])
})

test('the same servers again change nothing', () => {
  const world = new World({}, 1)
  world.lose()
  world.news()
  world.setServers('a')
  world.passUntil(74)
  expect(world.news()).toEqual([])
  world.passUntil(75)
  expect(world.news()).toEqual(['75 open a'])
})

test('the client does not move to a removed server that has a quorum', () => {
  const world = new World({ readOnly: true })
  world.connect(5n, true)
  world.setServers('a', 'x')
  world.news()
  world.machine.foundQuorum(servers[1]!, 0)
  expect(world.news()).toEqual([])
})

test('an ended machine ignores a new list', () => {
  const world = new World()
  world.connect()
  world.machine.end()
  world.news()
  world.setServers('x')
  world.passUntil(50_000)
  expect(world.news()).toEqual([])
})
