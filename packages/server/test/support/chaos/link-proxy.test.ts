import { connect, createServer, type Server, type Socket } from 'node:net'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { LinkProxy } from './link-proxy.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean()
})

test('a stranded link closes the side that dialed, and the other only when it is healed', async () => {
  const { near, far, proxy } = await linked()
  const [nearClosed, farClosed] = [closed(near), closed(far)]
  let hasFarClosed = false
  void farClosed.then(() => (hasFarClosed = true))
  proxy.strand()
  await nearClosed
  far.write('is anybody there?')
  // Another connection goes all the way through the loop, so an event for `far` would have come.
  const other = await LinkProxy.open(proxy.targetPort)
  cleanups.push(() => other.close())
  expect(await echo(other.port)).toBe('hello')
  expect(hasFarClosed).toBe(false)
  proxy.heal()
  await farClosed
  expect(await echo(proxy.port)).toBe('hello')
})

async function linked(): Promise<{ near: Socket; far: Socket; proxy: LinkProxy }> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  cleanups.push(() => server.close())
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as { port: number }
  const proxy = await LinkProxy.open(port)
  cleanups.push(() => proxy.close())
  const accepted = once(server, 'connection')
  const near = connect({ port: proxy.port, host: '127.0.0.1' })
  near.on('error', () => {})
  const [far] = (await accepted) as [Socket]
  near.write('x')
  await once(near, 'data')
  return { near, far, proxy }
}

/** `once` would reject, because these connections end with an error. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve())
  })
}

/** What comes back through a port. */
async function echo(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  cleanups.push(() => socket.destroy())
  socket.write('hello')
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return chunk.toString()
}
