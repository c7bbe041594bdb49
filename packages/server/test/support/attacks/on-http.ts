/** Attacks on the admin port. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { many, type Attack } from './attack.ts'

const host = '127.0.0.1'
/** The port is open to other machines, and everybody may see metadata. */
const openCfg = 'api.anonymous=metadata'

async function begun(port: number, text: string): Promise<Socket> {
  const socket = connect({ host, port })
  socket.on('error', () => {})
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {})
  if (!socket.destroyed) socket.write(text)
  return socket
}

export const onHttp: readonly Attack[] = [
  {
    name: '2,000 HTTP connections with a part of a request',
    limits: ['http_connections'],
    run: async ({ adminPort }, scale) => {
      const part = 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: '
      const count = Math.max(2000 * scale, 600)
      const sockets = await Promise.all(many(count, () => begun(adminPort, part)))
      for (let second = 0; second < 3; second++) {
        await delay(1000)
        for (const socket of sockets) if (!socket.destroyed) socket.write('x')
      }
      for (const socket of sockets) socket.destroy()
    },
  },
  {
    name: '400 event streams that nobody reads',
    cfg: openCfg,
    limits: ['event_streams'],
    run: async ({ adminPort }, scale) => {
      const request = 'GET /api/v1/events?path=/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
      const count = Math.max(400 * scale, 100)
      const sockets = await Promise.all(many(count, () => begun(adminPort, request)))
      for (const socket of sockets) socket.pause()
      await delay(3000)
      for (const socket of sockets) socket.destroy()
    },
  },
  {
    name: 'admin commands and API calls without authority',
    isInTests: true,
    cfg: 'admin.rateLimiterIntervalInMS=1',
    run: async ({ adminPort }) => {
      const base = `http://${host}:${adminPort}`
      const page = { Origin: 'http://evil.example', 'Content-Type': 'application/json' }
      const stranger = { Authorization: 'digest eve:secret' }
      const refused: readonly [path: string, init: RequestInit][] = [
        ['/commands/snapshot', {}],
        ['/commands/snapshot', { headers: stranger }],
        ['/commands/restore', { method: 'POST', body: 'x', headers: stranger }],
        ['/commands/hand_over', { method: 'POST', headers: stranger }],
        ['/commands/snapshot', { headers: { ...stranger, ...page } }],
        ['/api/v1/node?path=/', { headers: page }],
        ['/api/v1/node', { method: 'POST', body: '{"path":"/x"}', headers: page }],
        ['/api/v1/node', { method: 'POST', body: '{"path":"/x"}' }],
        ['/api/v1/history/changes', { headers: page }],
      ]
      for (const [path, init] of refused) {
        const { status } = await fetch(`${base}${path}`, init)
        if (status < 400 || status >= 500) throw new Error(`${path} was answered with ${status}`)
      }
      for (const path of ['/', '/api/v1/node?path=/', '/commands/stat', '/metrics']) {
        const status = await statusWithHost(adminPort, path, 'evil.example')
        if (status !== 403) throw new Error(`${path} of evil.example was answered with ${status}`)
      }
    },
  },
]

/** `fetch` does not send a foreign Host header. */
async function statusWithHost(port: number, path: string, name: string): Promise<number> {
  const socket = await begun(port, `GET ${path} HTTP/1.1\r\nHost: ${name}\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return Number(answer.toString().split(' ')[1])
}
