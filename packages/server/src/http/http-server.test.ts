import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { silent } from '../base/logger.ts'
import { listenHttp, sendText, type Handler } from './http-server.ts'

const idleTimeoutMs = 100

async function serve(
  handler: Handler,
  options: { readonly idleTimeoutMs?: number; readonly onTooMany?: () => void } = {},
): Promise<URL> {
  const port = { name: 'a port', host: '127.0.0.1', port: 0 }
  const server = await listenHttp(
    handler,
    { ...port, idleTimeoutMs, onTooMany() {}, ...options },
    silent,
  )
  onTestFinished(() => server?.stop())
  return new URL(server!.url)
}

async function open({ hostname, port }: URL, text: string): Promise<Socket> {
  const socket = connect({ host: hostname, port: Number(port) })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

/** The idle timeout of connections. */
async function idlePeriod(url: URL): Promise<void> {
  await once(await open(url, ''), 'close')
}

test('a request may take longer than a connection may be idle', async () => {
  const url = await serve(async (_, response) => {
    for (let i = 0; i < 4; i++) await idlePeriod(url)
    sendText(response, 200, 'done\n')
  })
  const socket = await open(url, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1.1 200 /)
  // From now on it is idle.
  await once(socket, 'close')
})

test('so may a request whose body is read slowly', async () => {
  const url = await serve(async (request, response) => {
    for await (const _ of request) for (let i = 0; i < 3; i++) await idlePeriod(url)
    sendText(response, 200, 'done\n')
  })
  const body = Buffer.alloc(150_000)
  expect((await fetch(url, { method: 'POST', body })).status).toBe(200)
})

test('a connection without a request is idle', async () => {
  const url = await serve(async () => {})
  await idlePeriod(url)
})

test('a client that stops sending, or reading, is disconnected', async () => {
  let dropped = new Promise<void>(() => {})
  const url = await serve(async (request, response) => {
    for await (const _ of request);
    dropped = once(response, 'close').then(() => {})
    response.writeHead(200)
    // More than any kernel buffers for a client that does not read.
    response.write(Buffer.alloc(64 << 20))
    await dropped
  })
  const sender = await open(url, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1')
  await once(sender, 'close')
  const reader = await open(url, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(reader, 'readable')
  await dropped
  reader.resume()
  await once(reader, 'close')
})

test('connections are bounded, and idle ones make room', async () => {
  const seen = { refused: 0 }
  const url = await serve(async (_, response) => sendText(response, 200, 'done\n'), {
    idleTimeoutMs: 60_000,
    onTooMany: () => seen.refused++,
  })
  const sockets: Socket[] = []
  const part = 'GET / HTTP/1.1\r\nHost: a\r\nX: '
  while (seen.refused === 0 && sockets.length < 5000) sockets.push(await open(url, part))
  expect(seen.refused).toBe(1)
  expect(sockets.length).toBeGreaterThan(400)
  for (const socket of sockets) socket.destroy()
  // The server may see their end a moment later.
  const answered = async (): Promise<boolean> =>
    (await fetch(url).catch(() => undefined))?.ok === true
  while (!(await answered()));
})
