import { connect, createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { encodeInitialMessage } from '@zabra/protocol'
import { startServer } from '../embedded.ts'
import { silent } from '../base/logger.ts'
import type { RunningServer } from '../running/running-server.ts'
import { freePorts } from '../../test/support/free-ports.ts'
import { parseHostPort } from './peer-network.ts'

let server: RunningServer | undefined
afterEach(async () => {
  await server?.stop()
  server = undefined
})

/** A server whose only peer is down. */
async function secondOfTwo() {
  const [quorumPort, electionPort, other, others] = await freePorts(4)
  const config = {
    myid: '2',
    initLimit: '5',
    syncLimit: '2',
    'server.1': `127.0.0.1:${other}:${others}`,
    'server.2': `127.0.0.1:${quorumPort}:${electionPort}`,
  }
  return { config, electionPort: electionPort! }
}

/** Another process that holds this port. */
async function holderOf(port: number): Promise<Server> {
  const holder = createServer()
  holder.listen(port, '127.0.0.1')
  await once(holder, 'listening')
  return holder
}

test.each([
  ['host:2888', { host: 'host', port: 2888 }],
  ['[::1]:1', { host: '::1', port: 1 }],
  ['host:0', undefined],
  ['host:65536', undefined],
  ['host', undefined],
  [undefined, undefined],
])('%s is where another server says to be', (text, place) => {
  expect(parseHostPort(text)).toEqual(place)
})

test('an invalid address announced on the election port has no effect', async () => {
  const { config, electionPort } = await secondOfTwo()
  server = await startServer({ config })
  // Server 0 is no member: it is dialed back at the address that it announces.
  const socket = connect(electionPort, '127.0.0.1')
  socket.end(encodeInitialMessage({ serverId: 0n, addresses: ['x:99999'] }))
  socket.resume()
  await once(socket, 'close')
  const again = connect(electionPort, '127.0.0.1')
  await once(again, 'connect')
  again.destroy()
})

test('an election port in use is retried', async () => {
  const { config, electionPort } = await secondOfTwo()
  const holder = await holderOf(electionPort)
  const lines: string[] = []
  const warn = (line: string): void => {
    lines.push(line)
    if (line.includes('retrying')) holder.close()
  }
  server = await startServer({ config, logger: { ...silent, warn } })
  expect(lines.join('\n')).toContain(
    `peer: cannot open port, retrying name=election port=${electionPort} `,
  )
  const socket = connect(electionPort, '127.0.0.1')
  await once(socket, 'connect')
  socket.destroy()
})

test('a start fails if the election port stays in use for the configured number of attempts', async () => {
  const { config, electionPort } = await secondOfTwo()
  const holder = await holderOf(electionPort)
  const starting = startServer({ config: { ...config, electionPortBindRetry: '1' } })
  await expect(starting).rejects.toThrow(String(electionPort))
  holder.close()
})
