import { errorCodes } from '@zabra/protocol'
import { expect, test } from 'vitest'
import { ConnectionLostError, RawClient, textOf } from './support/raw-client.ts'
import { inTemporaryFolder, ServerProcess } from './support/server-process.ts'

const data = (text: string): Uint8Array => Buffer.from(text)
const set = (path: string, text: string) => ({ path, data: data(text), version: -1 })
const get = (path: string) => ({ path, watch: false })

/** Runs the scenario on a separate server process, and again on its data after a kill. */
async function onServer(
  story: (server: ServerProcess) => Promise<void>,
  afterRestart: (client: RawClient) => Promise<void>,
): Promise<void> {
  await inTemporaryFolder(async (dir) => {
    const server = await ServerProcess.start(dir, 'tickTime=200\nsnapCount=50')
    try {
      await story(server)
    } finally {
      await server.kill()
    }
    const again = await ServerProcess.start(dir, '')
    try {
      await afterRestart(await RawClient.connect(again.port))
    } finally {
      await again.kill()
    }
  })
}

test('a full disk refuses writes, serves the rest, and recovers when there is room', async () => {
  await onServer(
    async (server) => {
      const holder = await RawClient.connect(server.port)
      const other = await RawClient.connect(server.port)
      await holder.create('/node', 'before')
      await holder.create('/ephemeral', '', 1)

      await server.failWrites('ENOSPC')
      const held = holder.call('setData', set('/node', 'held'))
      await server.untilSays(/disk: full, refusing writes/)

      expect((await other.call('setData', set('/node', 'refused'))).err).not.toBe(errorCodes.ok)
      expect(textOf((await other.must('getData', get('/node'))).data)).toBe('before')
      expect((await other.call('ping', {})).err).toBe(errorCodes.ok)
      const session = { sessionId: other.sessionId, password: other.password }
      const resumed = await RawClient.connect(server.port, { session })
      expect(resumed.sessionId).toBe(other.sessionId)
      expect((await resumed.call('exists', get('/ephemeral'))).err).toBe(errorCodes.ok)

      await server.failWrites()
      expect((await held).err).toBe(errorCodes.ok)
      await server.untilSays(/disk: has room again/)
      expect(textOf((await resumed.must('getData', get('/node'))).data)).toBe('held')
      for (let i = 0; i < 100; i++) await resumed.must('setData', set('/node', `after ${i}`))
    },
    async (client) => {
      const { data: content, stat } = await client.must('getData', get('/node'))
      expect(textOf(content)).toBe('after 99')
      expect(stat.version).toBe(101)
    },
  )
})

test('a session does not expire while the disk is too full to say so', async () => {
  await onServer(
    async (server) => {
      const brief = await RawClient.connect(server.port, { timeoutMs: 600 })
      const other = await RawClient.connect(server.port)
      const watcher = await RawClient.connect(server.port)
      await brief.create('/ephemeral', '', 1)
      await server.failWrites('ENOSPC')
      const held = other.call('setData', set('/', 'held'))
      await server.untilSays(/refusing writes/)
      const overdue = performance.now() + 1200
      while (performance.now() < overdue) await watcher.call('ping', {})
      await watcher.must('exists', { path: '/ephemeral', watch: true })
      await server.failWrites()
      expect((await held).err).toBe(errorCodes.ok)
      expect((await watcher.nextEvent()).path).toBe('/ephemeral')
    },
    async (client) => {
      expect((await client.call('exists', get('/ephemeral'))).err).toBe(errorCodes.noNode)
    },
  )
})

test('a disk that is full again and again takes every write once', async () => {
  await onServer(
    async (server) => {
      const client = await RawClient.connect(server.port)
      await client.create('/node')
      for (let i = 0; i < 120; i++) {
        const isFull = i % 40 === 20
        if (isFull) await server.failWrites('ENOSPC')
        const write = client.call('setData', set('/node', `${i}`))
        if (isFull) {
          const times = Math.ceil(i / 40)
          await server.untilSays(new RegExp(`(refusing writes[^]*){${times}}`))
          await server.failWrites()
        }
        expect((await write).err).toBe(errorCodes.ok)
      }
    },
    async (client) => {
      const { data: content, stat } = await client.must('getData', get('/node'))
      expect([textOf(content), stat.version]).toEqual(['119', 120])
    },
  )
})

test('a disk that fails ends the server with the reason, and nothing acknowledged is lost', async () => {
  await onServer(
    async (server) => {
      const client = await RawClient.connect(server.port)
      await client.create('/node', 'before')
      await server.failWrites('EIO')
      const write = client.call('setData', set('/node', 'never acknowledged'))
      await expect(write).rejects.toThrow(ConnectionLostError)
      expect(await server.exited).toEqual({ code: 1, signal: null })
      expect(server.output).toMatch(
        /server: stopping after a failure error="the transaction log .* EIO/,
      )
    },
    async (client) => {
      const { data: content, stat } = await client.must('getData', get('/node'))
      // A part or all of it may have reached the disk, but no other write than this.
      expect(['before', 'never acknowledged']).toContain(textOf(content))
      expect(stat.version).toBe(textOf(content) === 'before' ? 0 : 1)
    },
  )
})
