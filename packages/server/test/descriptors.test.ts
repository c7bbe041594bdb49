import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { RawClient } from './support/raw-client.ts'
import { inTemporaryFolder, ServerProcess } from './support/server-process.ts'

const descriptorsMax = 160

test('connections that use up the descriptors do not keep a log from being started', async () => {
  await inTemporaryFolder(async (dir) => {
    const cfg = 'snapCount=20\npreAllocSize=64\n4lw.commands.whitelist=*'
    const server = ServerProcess.launch(dir, cfg, { DESCRIPTORS_MAX: `${descriptorsMax}` })
    const strangers: Socket[] = []
    try {
      await server.untilServing()
      const client = await RawClient.connect(server.port)
      await client.create('/node')
      for (let i = 0; i < 2 * descriptorsMax; i++) {
        const socket = connect(server.port, '127.0.0.1')
        socket.on('error', () => {})
        strangers.push(socket)
      }
      await server.untilSays(/client: refused connections, too few file descriptors/)
      const data = Buffer.from('x')
      for (let i = 0; i < 200; i++)
        await client.must('setData', { path: '/node', data, version: i })
      for (const socket of strangers) socket.destroy()
      await client.close()
      const { code } = await server.stop()
      expect(code).toBe(0)
      expect(server.output).not.toMatch(/EMFILE|no file descriptor/)
    } finally {
      for (const socket of strangers) socket.destroy()
      await server.kill()
    }
  })
})
