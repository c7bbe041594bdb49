import { connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { dishonest, framed, greeting, mutated, validRequest } from './frames.ts'

const attackMsMax = 3000
const loopback = '127.0.0.1'

/** Attacks on one connection; returns how many frames it sent. */
export async function attack(port: number, random: Random, framesMax: number): Promise<number> {
  const socket = connect({ port, host: loopback, noDelay: true })
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => {})
  socket.setTimeout(attackMsMax, () => socket.destroy())
  // Some never read the answers.
  const isDeaf = random.chance(0.05)
  if (!isDeaf) socket.resume()
  let sent = 0
  if (random.chance(0.2)) {
    sent += await send(socket, random, [beforeTheHandshake(random)])
  } else {
    sent += await send(socket, random, [greeting(random)])
    if (random.chance(0.8)) await answerOrEnd(socket, ended)
    const count = random.between(1, framesMax)
    const frames = Array.from({ length: count }, () => afterTheHandshake(random))
    sent += await send(socket, random, frames)
  }
  leave(socket, random)
  await ended
  return sent
}

function beforeTheHandshake(random: Random): Uint8Array {
  switch (random.int(6)) {
    case 0:
      return random.bytes(random.int(200))
    case 1:
      return mutated(greeting(random), random)
    case 2:
      return dishonest(random)
    case 3: // A part of a large frame.
      return framed(random.bytes(random.int(2000)), 1_000_000)
    case 4:
      return Buffer.from(
        random.pick(['ruok', 'srvr', 'conf', 'xxxx', 'ruo', 'GET / HTTP/1.1\r\n\r\n']),
      )
    default:
      return validRequest(random)
  }
}

function afterTheHandshake(random: Random): Uint8Array {
  const dice = random.int(1000)
  // An invalid frame may end the connection, so there are fewer of them.
  if (dice < 350) return validRequest(random)
  if (dice < 960) return mutated(validRequest(random), random)
  if (dice < 965) return framed(random.bytes(random.int(100)), 100)
  if (dice < 970) return dishonest(random)
  if (dice < 971) return framed(new Uint8Array(random.between(0xffff0, 0x100010)), 0xfffff)
  const noise = random.bytes(random.between(0, 60))
  return framed(noise, noise.length)
}

/** Sends the frames in pieces that ignore frame boundaries; returns how many frames were sent. */
async function send(
  socket: Socket,
  random: Random,
  frames: readonly Uint8Array[],
): Promise<number> {
  const bytes = Buffer.concat(frames)
  const pieceMax = random.pick([3, 50, 1000, 100_000])
  let at = 0
  while (at < bytes.length && !socket.destroyed) {
    // Tiny pieces only for short data: a million writes prove no more than a thousand.
    const piece = Math.max(random.between(1, pieceMax), Math.ceil(bytes.length / 200))
    socket.write(bytes.subarray(at, at + piece))
    at += piece
    if (random.chance(0.3)) await nextTurn()
  }
  let end = 0
  return frames.filter((frame) => (end += frame.length) <= at).length
}

/** Waits for the first bytes of an answer, or for the end of the connection. */
async function answerOrEnd(socket: Socket, ended: Promise<void>): Promise<void> {
  const answered = new Promise<void>((resolve) => socket.once('data', () => resolve()))
  await Promise.race([answered, ended])
}

function leave(socket: Socket, random: Random): void {
  const dice = random.int(30)
  if (dice < 14) socket.end()
  else if (dice < 21) socket.resetAndDestroy()
  else if (dice < 29) socket.destroy()
  // Half-open: sends nothing more, and waits for the server to close or for its own timeout.
  else socket.setTimeout(200, () => socket.destroy())
}
