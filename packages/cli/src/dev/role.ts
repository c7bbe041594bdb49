import { connect } from 'node:net'
import { loopback } from './member.ts'

/** What a server says it is: `standalone`, `leader`, `follower`. */
export function roleOf(port: number): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect({ host: loopback, port }, () => socket.write('srvr'))
    socket.setTimeout(2000, () => socket.destroy())
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
    socket.on('error', () => {})
    socket.on('close', () => resolve(/^Mode: (\w+)/m.exec(answer)?.[1] ?? 'starting'))
  })
}
