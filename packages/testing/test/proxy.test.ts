/** The faults of a proxy, as both ends of a connection see them. */
import { connect as dial, createServer, type AddressInfo, type Socket } from 'node:net'
import { connect } from '@zabra/client'
import { startServer } from '@zabra/server'
import { expect, onTestFinished, test } from 'vitest'
import { startProxy, untilState, type FaultProxy } from '../src/index.ts'

/** A server that records what it receives, and a proxy in front of it. */
async function stage() {
  const sockets: Socket[] = []
  let arrived: (() => void) | undefined
  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    sockets.push(socket)
    arrived?.()
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const proxy = await startProxy(`127.0.0.1:${(listener.address() as AddressInfo).port}`)
  onTestFinished(async () => {
    await proxy.stop()
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => listener.close(resolve))
  })
  return {
    proxy,
    /** A connection through the proxy: the client's end, and the server's. */
    join: async (): Promise<{ near: Socket; far: Socket }> => {
      const taken = new Promise<void>((resolve) => (arrived = resolve))
      const near = await dialed(proxy)
      await taken
      return { near, far: sockets.at(-1)! }
    },
  }
}

function dialed(proxy: FaultProxy): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = dial({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
}

function heard(socket: Socket, bytes: number): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString()
      if (text.length >= bytes) resolve(text)
    })
  })
}

function endOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.resume()
    socket.once('error', (error) => resolve((error as NodeJS.ErrnoException).code ?? ''))
    socket.once('end', () => resolve('end'))
  })
}

test('bytes pass in both directions, and an end does after them', async () => {
  const { proxy, join } = await stage()
  const { near, far } = await join()
  const atServer = heard(far, 5)
  near.end('hello')
  expect(await atServer).toBe('hello')
  const atClient = heard(near, 7)
  far.end('goodbye')
  expect(await atClient).toBe('goodbye')
  expect([proxy.bytes('toServer'), proxy.bytes('toClient')]).toEqual([5, 7])
})

test('a delay holds bytes back in one direction, and keeps their order', async () => {
  const { proxy, join } = await stage()
  const { near, far } = await join()
  proxy.delay(80, { direction: 'toServer', jitterMs: 40 })
  const sentMs = performance.now()
  const atServer = heard(far, 6)
  for (const letter of 'abcdef') near.write(letter)
  expect(await atServer).toBe('abcdef')
  expect(performance.now() - sentMs).toBeGreaterThan(75)
  const atClient = heard(near, 2)
  far.write('ok')
  await atClient
  await proxy.heal()
})

test('a limit lets so many bytes a second through', async () => {
  const { proxy, join } = await stage()
  const { near, far } = await join()
  proxy.limit(100_000, { direction: 'toServer' })
  const atServer = heard(far, 20_000)
  const sentMs = performance.now()
  near.write('x'.repeat(20_000))
  await atServer
  // 20,000 bytes are 200 ms; the last slice is sent at its beginning.
  expect(performance.now() - sentMs).toBeGreaterThan(150)
})

test('fragments are no longer than they may be', async () => {
  const { proxy, join } = await stage()
  const { near, far } = await join()
  proxy.fragment(3)
  const sizes: number[] = []
  far.on('data', (chunk) => sizes.push(chunk.length))
  const atServer = heard(far, 10)
  near.write('0123456789')
  expect(await atServer).toBe('0123456789')
  expect(sizes.length).toBeGreaterThan(1)
})

test('what is held is silent for both sides, and arrives when it is released', async () => {
  const { proxy, join } = await stage()
  const { near, far } = await join()
  proxy.hold({ direction: 'toServer' })
  const atServer = heard(far, 4)
  near.write('late')
  const atClient = heard(near, 5)
  far.write('early')
  expect(await atClient).toBe('early')
  expect([proxy.bytes('toServer'), near.readyState, far.readyState]).toEqual([0, 'open', 'open'])
  proxy.release()
  expect(await atServer).toBe('late')
})

test('a new connection through a held link is accepted and stays silent', async () => {
  const { proxy, join } = await stage()
  proxy.hold()
  const { near, far } = await join()
  near.write('x')
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect([far.bytesRead, near.readyState]).toEqual([0, 'open'])
  const atServer = heard(far, 1)
  await proxy.heal()
  expect(await atServer).toBe('x')
})

test('a reset is heard as one on both sides, and new connections pass', async () => {
  const { proxy, join } = await stage()
  const { near, far } = await join()
  const ends = [endOf(near), endOf(far)]
  proxy.reset()
  expect(await Promise.all(ends)).toEqual(['ECONNRESET', 'ECONNRESET'])
  await join()
  expect(proxy.connections).toBe(1)
})

test('a connection is reset after exactly so many bytes', async () => {
  const { proxy, join } = await stage()
  const { near, far } = await join()
  const happened = proxy.resetAfter(4, { direction: 'toServer' })
  let text = ''
  far.on('data', (chunk) => (text += chunk.toString()))
  const end = endOf(far)
  near.on('error', () => {})
  near.write('ab')
  near.write('cdef')
  await happened
  // If bytes came before it, Node reports a reset as an end.
  expect(['ECONNRESET', 'end']).toContain(await end)
  expect(text).toBe('abcd')
  // Once: the next connection carries more.
  const next = await join()
  const atServer = heard(next.far, 6)
  next.near.write('abcdef')
  expect(await atServer).toBe('abcdef')
})

test('waiting for a reset ends when the proxy is healed or stopped before', async () => {
  const { proxy, join } = await stage()
  await join()
  const sentence = 'no connection was reset: it was healed before'
  const healed = proxy.resetAfter(4, { direction: 'toServer' })
  await proxy.heal()
  await expect(healed).rejects.toThrow(sentence)
  const replaced = proxy.resetAfter(4, { direction: 'toServer' })
  const stopped = proxy.resetAfter(5, { direction: 'toServer' })
  await expect(replaced).rejects.toThrow(sentence)
  await proxy.stop()
  await expect(stopped).rejects.toThrow(sentence)
})

test('where it refuses nobody listens, and afterwards somebody does', async () => {
  const { proxy, join } = await stage()
  const { near, far } = await join()
  proxy.refuse()
  await expect(dialed(proxy)).rejects.toThrow('ECONNREFUSED')
  const atServer = heard(far, 5)
  near.write('still')
  expect(await atServer).toBe('still')
  proxy.cut()
  await endOf(near)
  await proxy.heal()
  await join()
})

test('what passes can be seen and changed', async () => {
  const { proxy, join } = await stage()
  const { near, far } = await join()
  const seen: string[] = []
  proxy.intercept((bytes, direction) => {
    seen.push(`${direction} ${Buffer.from(bytes).toString()}`)
    return direction === 'toServer' ? Buffer.from('forged') : undefined
  })
  const atServer = heard(far, 6)
  near.write('honest')
  expect(await atServer).toBe('forged')
  const atClient = heard(near, 5)
  far.write('reply')
  expect(await atClient).toBe('reply')
  expect(seen).toEqual(['toServer honest', 'toClient reply'])
})

test('before several servers there is a link for each, and the chroot stays', async () => {
  const servers = await Promise.all([startServer(), startServer()])
  onTestFinished(async () => void (await Promise.all(servers.map((server) => server.stop()))))
  await using proxy = await startProxy(`${servers.map((s) => s.connectString).join(',')}/app`)
  expect(proxy.connectString).toMatch(/^127\.0\.0\.1:\d+,127\.0\.0\.1:\d+\/app$/)
  proxy.links[0]!.refuse()
  await using client = await connect(proxy.connectString)
  await client.ensure('/')
  expect(proxy.links.map(({ connections }) => connections)).toEqual([0, 1])
})

test('a client behind it is suspended when it is cut, and goes on when it is healed', async () => {
  const server = await startServer()
  onTestFinished(() => server.stop())
  await using proxy = await startProxy(server.connectString)
  await using client = await connect(proxy.connectString)
  proxy.cut()
  await untilState(client, 'suspended')
  await proxy.heal()
  await client.connected()
  await client.create('/after', '')
})

test('numbers that make no sense are refused', async () => {
  const { proxy } = await stage()
  expect(() => proxy.delay(-1)).toThrow('delay is a number, at least 0: -1 is not')
  expect(() => proxy.limit(0)).toThrow('bytesPerSecond')
  expect(() => proxy.fragment(Number.NaN)).toThrow('bytesMax')
})
