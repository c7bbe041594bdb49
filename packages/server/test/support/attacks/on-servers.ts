/** Attacks on the ports for other servers, by a stranger. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import {
  encodeInitialMessage,
  encodePacket,
  LearnerInfo,
  PacketReader,
  Writer,
} from '@zabra/protocol'
import { Random } from '../random.ts'
import { many, type Attack } from './attack.ts'

const host = '127.0.0.1'
/** Not the id of a member. */
const strangerId = 99n
const absurdEpoch = 0x7fffff00n

async function open(port: number): Promise<Socket> {
  const socket = connect({ host, port })
  socket.on('error', () => {})
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {})
  return socket
}

/** The first packet of a learner. */
function introduction(
  name: 'followerInfo' | 'observerInfo',
  serverId: bigint,
  epoch: bigint,
): Uint8Array {
  const info = new Writer(20)
  LearnerInfo.write(info, { serverId, protocolVersion: 0x10000, configVersion: 0n })
  return encodePacket(name, epoch << 32n, info.written())
}

/** Sends bytes, and returns everything that is answered in half a second or until the end. */
async function answerTo(port: number, bytes: Uint8Array): Promise<Buffer> {
  const socket = await open(port)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  if (!socket.destroyed) socket.write(bytes)
  await Promise.race([once(socket, 'close'), delay(500)])
  socket.destroy()
  return Buffer.concat(chunks)
}

function packetsIn(bytes: Uint8Array): number[] {
  const reader = new PacketReader()
  reader.push(bytes)
  const types: number[] = []
  for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
    types.push(packet.type)
  }
  return types
}

export const onServers: readonly Attack[] = [
  {
    name: '3,000 silent connections to each port for servers',
    isOnEnsemble: true,
    isInTests: true,
    limits: ['peer_connections'],
    run: async ({ quorumPort, electionPort }, scale) => {
      const count = Math.max(3000 * scale, 300)
      const sockets = await Promise.all(
        [quorumPort!, electionPort!].flatMap((port) => many(count, () => open(port))),
      )
      await delay(1500)
      for (const socket of sockets) socket.destroy()
    },
  },
  {
    name: 'learners that are no members, and epochs that nobody has promised',
    isOnEnsemble: true,
    isInTests: true,
    run: async ({ quorumPort }, scale) => {
      for (let i = 0; i < 50 * scale; i++) {
        for (const name of ['followerInfo', 'observerInfo'] as const) {
          for (const [serverId, epoch] of [
            [strangerId, 0n],
            [strangerId, absurdEpoch],
            [1n, absurdEpoch],
            [2n, absurdEpoch],
          ] as const) {
            const answer = await answerTo(quorumPort!, introduction(name, serverId, epoch))
            const types = packetsIn(answer)
            if (types.length === 0) continue
            throw new Error(`server ${serverId} with epoch ${epoch} was answered: ${types.join()}`)
          }
        }
      }
    },
  },
  {
    name: 'random bytes and votes on the ports for servers',
    isOnEnsemble: true,
    run: async ({ quorumPort, electionPort }, scale) => {
      const random = new Random(1)
      for (let i = 0; i < 100 * scale; i++) {
        const noise = random.bytes(random.int(2000))
        const hello = encodeInitialMessage({ serverId: strangerId, addresses: ['127.0.0.1:1'] })
        const vote = Buffer.concat([hello, Uint8Array.of(0, 0, 0, 60), random.bytes(60)])
        const large = Uint8Array.of(0x7f, 0xff, 0xff, 0xff, 1, 2, 3)
        await Promise.all([
          answerTo(quorumPort!, noise),
          answerTo(quorumPort!, large),
          answerTo(electionPort!, noise),
          answerTo(electionPort!, vote),
          answerTo(electionPort!, Buffer.concat([hello, large])),
        ])
      }
    },
  },
]
