import { errorCodes } from '@zabra/protocol'
import { LoneClient, LonePeer } from '../../../../packages/core/test/support/lone-peer.ts'
import { greeting, validRequest } from '../../../../packages/server/test/support/fuzz/frames.ts'
import { Random } from '../../../../packages/server/test/support/random.ts'
import type { Target } from '../target.ts'

/** The number of hostile clients per peer, so that they meet what others left behind. */
const clientsPerPeer = 64
const replyBytesMax = 64 * 1024 * 1024

let peer: LonePeer | undefined
let clients = 0

/** The bytes of a client, sent to a whole server without sockets; another client keeps working. */
export const clientPort: Target = {
  name: 'client-port',
  seeds() {
    const random = new Random(1)
    const sessions = Array.from({ length: 60 }, () =>
      join(
        Uint8Array.of(1),
        ...Array.from({ length: random.between(1, 8) }, () => validRequest(random)),
      ),
    )
    return [join(Uint8Array.of(0), greeting(random), validRequest(random)), ...sessions]
  },
  run(input) {
    if (clients++ % clientsPerPeer === 0) peer = new LonePeer()
    try {
      besiege(peer!, input)
    } catch (error) {
      // The next input gets a new peer.
      clients = 0
      throw error
    }
  },
}

function besiege(server: LonePeer, input: Uint8Array): void {
  const isGreeted = input[0] !== 0
  const hostile = isGreeted ? server.connect() : new LoneClient(server, '127.0.0.1')
  const bytes = input.slice(1)
  const half = bytes.length >> 1
  for (const piece of [bytes.slice(0, half), bytes.slice(half)]) {
    if (!hostile.isClosed) hostile.sendBytes(piece)
    server.commit()
  }
  const { position } = hostile.connection.out
  if (position > replyBytesMax) throw new Error(`${position} bytes of replies to ${bytes.length}`)
  server.peer.closed(hostile.connection)
  server.passTime(10)
  const good = server.connect()
  const error = good.call('exists', { path: '/zookeeper', watch: false })
  // The hostile client may have taken away everybody's permission to read.
  if (error !== 0 && error !== errorCodes.noAuth)
    throw new Error(`a good client gets error ${error}`)
  server.peer.closed(good.connection)
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}
