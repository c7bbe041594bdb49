import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { PacketLink } from '@zabra/core'
import { afterEach, expect, test } from 'vitest'
import type { Turn } from './turn.ts'
import { PeerSocket } from './peer-socket.ts'
import { createReadingServer, onRead } from '../base/read-buffer.ts'

/** A turn that ends when the test says so. */
class Turns {
  private dirty: { flush(): void }[] = []
  setTime = (): number => 0
  schedule = (): void => {}
  finish = (): void => this.flush()
  flushLater(socket: { flush(): void }): void {
    this.dirty.push(socket)
  }
  flush(): void {
    const { dirty } = this
    this.dirty = []
    for (const socket of dirty) socket.flush()
  }
}

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** Two ends of a connection, one of them a PeerSocket; the other is read only on demand. */
async function pair(): Promise<{ link: PacketLink; turns: Turns; near: Socket; far: Socket }> {
  const turns = new Turns()
  const server = createReadingServer({ allowHalfOpen: false }, (near) => {
    const wire = new PeerSocket(near, turns as unknown as Turn)
    const link = new PacketLink(wire, 0)
    wire.attach(link)
    server.emit('linked', { link, near })
    return wire
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [{ link, near }] = (await once(server, 'linked')) as [{ link: PacketLink; near: Socket }]
  closers.push(() => {
    far.destroy()
    near.destroy()
    server.close()
  })
  return { link, turns, near, far }
}

test('bytes that leave slowly are not changed by reusing buffers', async () => {
  const { link, turns, near, far } = await pair()
  const count = 400
  const bytesEach = 50_000
  const received: Uint8Array[] = []
  far.on('data', (chunk) => received.push(chunk as Uint8Array))
  far.pause()
  let backedUp = 0
  for (let i = 0; i < count; i++) {
    link.sendRaw(new Uint8Array(bytesEach).fill(i % 251))
    turns.flush()
    if (near.writableLength > 0) backedUp++
    // The other side reads a little now and then, so that some bytes have left and some have not.
    if (i % 20 !== 19) continue
    far.resume()
    await once(far, 'data')
    far.pause()
  }
  expect(backedUp).toBeGreaterThan(0)
  link.close()
  turns.flush()
  far.resume()
  await once(far, 'end')
  const all = Buffer.concat(received)
  expect(all.length).toBe(count * bytesEach)
  const wrong = Array.from({ length: count }, (_, i) => i).filter(
    (i) => !all.subarray(i * bytesEach, (i + 1) * bytesEach).every((byte) => byte === i % 251),
  )
  expect(wrong).toEqual([])
})

test('received bytes and the end of the stream are passed on', async () => {
  const { link, far } = await pair()
  const lost = new Promise<void>((resolve) => {
    link.onClosed = resolve
  })
  const first = link.nextRaw()
  far.write('abc')
  expect(Buffer.from(await first).toString()).toBe('abc')
  const second = link.nextRaw()
  far.end('def')
  expect(Buffer.from(await second).toString()).toBe('def')
  await lost
  await expect(link.next()).rejects.toThrow('lost')
})

test('a socket that dials reads into the same buffer', async () => {
  const server = createReadingServer({ allowHalfOpen: true }, (socket) => {
    return {
      receive: (bytes, length) => socket.write(Uint8Array.from(bytes.subarray(0, length))),
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let came = ''
  const receiver = {
    receive(bytes: Uint8Array, length: number): void {
      came += Buffer.from(bytes.subarray(0, length)).toString()
      socket.end()
    },
  }
  const onread = onRead(() => receiver)
  const socket = connect({ port, host: '127.0.0.1', onread })
  closers.push(() => {
    socket.destroy()
    server.close()
  })
  socket.write('hello')
  await once(socket, 'finish')
  expect(came).toBe('hello')
})
