/** Attacks on the TLS side of a client port. */
import { once } from 'node:events'
import { connect as connectPlain, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { join } from 'node:path'
import { Authority } from '../certificates.ts'
import { many, type Attack } from './attack.ts'

const host = '127.0.0.1'

/** The client port accepts both TLS and plain connections. */
function tlsCfg(dir: string): string {
  const authority = new Authority('Attacked CA', join(dir, 'certificates'))
  authority.issueFile('server')
  const settings = Object.entries(authority.settings('ssl.'))
  return [
    'client.portUnification=true',
    'ssl.clientAuth=none',
    ...settings.map(([key, value]) => `${key}=${value}`),
  ].join('\n')
}

/** Resolves to whether the handshake succeeds. */
async function handshake(port: number): Promise<boolean> {
  const socket: TLSSocket = connect({ host, port, rejectUnauthorized: false })
  socket.on('error', () => {})
  const isSecure = await Promise.race([
    new Promise<boolean>((resolve) => socket.once('secureConnect', () => resolve(true))),
    new Promise<boolean>((resolve) => socket.once('close', () => resolve(false))),
  ])
  socket.destroy()
  return isSecure
}

/** A connection that has sent these bytes. */
async function begun(port: number, bytes: string): Promise<Socket> {
  const socket = connectPlain({ host, port })
  socket.on('error', () => {})
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {})
  if (!socket.destroyed) socket.write(bytes, 'latin1')
  return socket
}

export const onTls: readonly Attack[] = [
  {
    name: 'TLS handshakes, 1,000 at the same time',
    cfg: tlsCfg,
    limits: ['handshakes'],
    run: async ({ port }, scale) => {
      let succeeded = 0
      for (let i = 0; i < 5 * scale; i++) {
        const outcomes = await Promise.all(many(1000, () => handshake(port)))
        succeeded += outcomes.filter(Boolean).length
      }
      if (succeeded === 0) throw new Error('no handshake succeeded')
    },
  },
  {
    name: '1,000 TLS handshakes that are begun and not finished',
    isInTests: true,
    cfg: tlsCfg,
    limits: ['handshakes'],
    run: async ({ port }, scale) => {
      // The header of a record whose content does not follow.
      const count = Math.max(1000 * scale, 700)
      const sockets = await Promise.all(many(count, () => begun(port, '\x16\x03\x01\x02\x00')))
      await delay(1500)
      // They give way to a client that is in earnest.
      if (!(await handshake(port))) throw new Error('another client could not connect')
      for (const socket of sockets) socket.destroy()
    },
  },
]
