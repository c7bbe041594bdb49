import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import {
  ConnectRequest,
  ConnectResponse,
  encode,
  FrameCutter,
  operations,
  Reader,
  ReplyHeader,
  RequestHeader,
  type Codec,
} from '@zabra/protocol'
import { expect, test } from 'vitest'
import { startServer } from '../src/index.ts'
import { inTemporaryFolder } from './support/server-process.ts'

function frame<T>(codec: Codec<T>, value: T, header?: { xid: number; type: number }): Buffer {
  const head = header === undefined ? [] : [encode(RequestHeader, header)]
  const body = Buffer.concat([...head, encode(codec, value)])
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length)
  return Buffer.concat([length, body])
}

// Apache's Java client authenticates and restores its watches without waiting for its session.
test('requests that follow the handshake before it is answered are answered after it', async () => {
  await inTemporaryFolder(askTooSoon)
})

async function askTooSoon(dataDir: string): Promise<void> {
  // On a real disk, where creating a session takes a moment.
  const server = await startServer({ config: { dataDir } })
  const socket = connect(server.clientPort, '127.0.0.1')
  socket.setNoDelay(true)
  const frames: Buffer[] = []
  const cutter = new FrameCutter(1024)
  const answered = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      cutter.push(chunk, chunk.length, {
        frame: (bytes, start, end) => {
          frames.push(Buffer.from(bytes.subarray(start, end)))
          if (frames.length === 4) resolve()
          return true
        },
      })
    })
    socket.on('close', () => resolve())
  })
  const passwd = new Uint8Array(16)
  const greeting = { protocolVersion: 0, lastZxidSeen: 0n, timeOut: 5000, sessionId: 0n, passwd }
  socket.write(frame(ConnectRequest, { ...greeting, readOnly: false }))
  const read = operations.exists
  for (const xid of [1, 2, 3]) {
    // Each arrives separately, while the session is being made durable.
    await new Promise((resolve) => setImmediate(resolve))
    socket.write(frame(read.request, { path: '/', watch: false }, { xid, type: read.code }))
  }
  await Promise.race([answered, delay(5000)])
  socket.destroy()
  await server.stop()
  expect(frames).toHaveLength(4)
  expect(ConnectResponse.read(new Reader(frames[0]!)).sessionId).not.toBe(0n)
  const xids = frames.slice(1).map((reply) => ReplyHeader.read(new Reader(reply)).xid)
  expect(xids).toEqual([1, 2, 3])
}
