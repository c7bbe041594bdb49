import { createServer, type Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Wiring } from './wiring.ts'

/** Listens, or rejects with the reason. */
function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

test('no other process gets the ports of a server that does not run', async () => {
  const wiring = await Wiring.open([1, 2])
  onTestFinished(() => wiring.stop())
  const line = wiring.members(1, () => 'participant')['server.1']!
  const ports = line.split(':').slice(1, 3).map(Number)
  await wiring.setUp(1, false)
  for (const port of ports) await expect(listen(port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await wiring.vacate(1)
  for (const port of ports) {
    const server = await listen(port)
    onTestFinished(() => void server.close())
  }
})
