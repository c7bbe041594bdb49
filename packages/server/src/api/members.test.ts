import { createServer, type AddressInfo } from 'node:net'
import { hex } from '@zabra/core'
import { expect, onTestFinished, test } from 'vitest'
import { freePorts } from '../../test/support/free-ports.ts'
import { startServer } from '../embedded.ts'
import { lookAt, members } from './members.ts'

const specOf = (port: number | undefined) => ({
  addresses: [{ host: '127.0.0.1', quorumPort: 1, electionPort: 2 }],
  role: 'participant' as const,
  client: port === undefined ? undefined : { host: '0.0.0.0', port },
  secureClient: undefined,
})

test('the state of a server comes from the four-letter words on its client port', async () => {
  const server = await startServer()
  onTestFinished(() => server.stop())
  const { state, numbers } = await lookAt(specOf(server.clientPort))
  expect(state).toBe('serving')
  expect(numbers).toMatchObject({ role: 'standalone', outstanding: 0, meanLatencyMs: 0 })
  expect(hex(numbers.zxid!)).toBe(hex(server.peer.lastZxid))
  expect(numbers.syncMs).toBeTypeOf('number')
  expect(numbers.connections).toBe(0)
  const { members: own } = await members(server)
  expect(own[0]).toMatchObject({ znodes: numbers.znodes, dataBytes: numbers.dataBytes })
})

test('a server that does not answer is unreachable, one without a port is unknown', async () => {
  const [port] = await freePorts(1)
  expect((await lookAt(specOf(port))).state).toBe('unreachable')
  expect((await lookAt(specOf(undefined))).state).toBe('unknown')
})

test('of a server that answers only a part in time, the port of the console is not known', async () => {
  const busy = createServer((socket) => {
    socket.on('error', () => {})
    socket.on(
      'data',
      (word) => String(word) === 'srvr' && socket.end('Zxid: 0x1\nMode: follower\n'),
    )
  })
  await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void busy.close())
  const { port } = busy.address() as AddressInfo
  const found = await lookAt(specOf(port))
  expect(found).toMatchObject({ state: 'serving', isComplete: false })
  expect(found.adminPort).toBeUndefined()
  const server = await startServer()
  onTestFinished(() => server.stop())
  expect(await lookAt(specOf(server.clientPort))).toMatchObject({ isComplete: true })
})
