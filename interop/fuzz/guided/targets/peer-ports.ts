import { encode, encodeInitialMessage, encodePacket, LearnerInfo } from '@zabra/protocol'
import { TestEnsemble } from '../../../../packages/core/test/support/ensemble.ts'
import type { Target } from '../target.ts'

/** The number of inputs per ensemble, so that they meet what others left behind. */
const inputsPerEnsemble = 200

let ensemble: TestEnsemble | undefined
let inputs = 0
let nextConnection = 1_000_000

async function soundEnsemble(): Promise<TestEnsemble> {
  if (ensemble !== undefined && inputs++ % inputsPerEnsemble !== 0) return ensemble
  for (const server of ensemble?.servers.values() ?? []) server.crash()
  ensemble = new TestEnsemble({ 1: 'participant', 2: 'participant', 3: 'participant' })
  await ensemble.start(1, 2, 3)
  await ensemble.serving(3)
  return ensemble
}

async function survive(world: TestEnsemble): Promise<void> {
  await world.settle()
  const failures = [...world.servers.values()].flatMap((server) => server.failures)
  if (failures.length === 0) return
  ensemble = undefined
  throw failures[0]!
}

const hello = (kind: 'followerInfo' | 'observerInfo', serverId: bigint): Uint8Array =>
  encodePacket(
    kind,
    0x1_0000_0000n,
    encode(LearnerInfo, { serverId, protocolVersion: 0x10000, configVersion: 0n }),
  )

/** An unknown server on the leader's quorum port. */
export const quorumPort: Target = {
  name: 'quorum-port',
  seeds() {
    const epoch = Uint8Array.of(0, 0, 0, 1)
    const sessions = [
      hello('followerInfo', 2n),
      hello('observerInfo', 9n),
      hello('observerInfo', -1n),
    ]
    const after = [
      encodePacket('ackEpoch', 0x1_0000_0000n, epoch),
      encodePacket('ack', 0x1_0000_0000n),
      encodePacket('ping', 0n, new Uint8Array(12)),
      encodePacket('revalidate', 0n, new Uint8Array(12)),
      encodePacket('request', 0n, new Uint8Array(30), [{ scheme: 'ip', id: '1' }]),
    ]
    return [
      ...sessions,
      ...sessions.map((first) => new Uint8Array(Buffer.concat([first, ...after]))),
      ...after.map((packet) => new Uint8Array(Buffer.concat([sessions[0]!, after[0]!, packet]))),
    ]
  },
  async run(input) {
    const world = await soundEnsemble()
    const { peer } = world.leader
    const wire = { flushSoon() {}, close() {}, unsentBytes: 0 }
    const link = peer!.acceptLearner(wire)
    const half = input.length >> 1
    for (const piece of [input.slice(0, half), input.slice(half)]) {
      if (!link.isClosed) link.received(piece, world.nowMs)
      await world.settle()
    }
    if (!link.isClosed) link.lost()
    await survive(world)
  },
}

/** An unknown server on the election port of a follower. */
export const electionPort: Target = {
  name: 'election-port',
  seeds() {
    const vote = Buffer.alloc(4 + 40 + 8)
    vote.writeInt32BE(48)
    return [
      encodeInitialMessage({ serverId: 9n, addresses: ['s9:2'] }),
      encodeInitialMessage({ serverId: 3n, addresses: ['s3:2', 's3:3'] }),
      new Uint8Array(
        Buffer.concat([encodeInitialMessage({ serverId: 9n, addresses: ['s9:2'] }), vote]),
      ),
      new Uint8Array(
        Buffer.concat([encodeInitialMessage({ serverId: 3n, addresses: ['s3:2'] }), vote, vote]),
      ),
    ]
  },
  async run(input) {
    const world = await soundEnsemble()
    const { peer } = world.followers[0] ?? world.leader
    const id = nextConnection++
    const half = input.length >> 1
    peer!.electionInput((links) => links.accepted(id))
    for (const piece of [input.slice(0, half), input.slice(half)]) {
      peer!.electionInput((links) => links.received(id, piece))
      await world.settle()
    }
    peer!.electionInput((links) => links.closed(id))
    await survive(world)
    if (world.servers.size > 0 && inputs % 50 === 0) await world.serving(3)
  },
}
