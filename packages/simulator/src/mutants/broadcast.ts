/** Errors in how transactions are ordered, logged, acknowledged and committed. */
import { packetTypes, Reader } from '@zabra/protocol'
import { inside, replace } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'
import { ofLeader, ofLearner, skipping, type LinkInside } from './roles.ts'

type Sent = Parameters<LinkInside['sendPacket']>

interface Packet {
  readonly type: number
  readonly zxid: bigint
}

/** Transactions that a learner has logged and not applied. */
interface Pending {
  all(): Packet[]
  clear(): void
  push(txn: Packet): void
}

/** Delays every `n`-th packet of this kind until the next packet of any kind. */
export function delaying(link: object, kind: number, n: number): void {
  let calls = 0
  let late: Sent[0] | undefined
  replace<Sent, void>(link, 'sendPacket', (original) => (packet) => {
    if (packet.type === kind && late === undefined && ++calls % n === 0) {
      // A copy, because the buffer is reused for the next request.
      late = { ...packet, data: packet.data && new Uint8Array(packet.data as Uint8Array) }
      return
    }
    original(packet)
    if (late !== undefined) original(late)
    late = undefined
  })
}

export const broadcastMutants: readonly Mutant[] = [
  ofLearner('a follower acknowledges before its log has it', (learner) => {
    replace<[{ zxid: bigint }], void>(learner, 'append', (original) => (txn) => {
      original(txn)
      ;(learner as { logged?(zxid: bigint): void }).logged!(txn.zxid)
    })
  }),
  ofLearner('a follower does not log every twentieth proposal', (learner) =>
    replace(learner, 'append', skipping(20)),
  ),
  ofLearner('a follower applies what is not committed yet', (learner) => {
    replace<[Packet], void>(learner, 'receive', (original) => (packet) => {
      if (packet.type === packetTypes.commit) return
      original(packet)
      if (packet.type === packetTypes.proposal) original({ ...packet, type: packetTypes.commit })
    })
  }),
  ofLearner('a follower applies commits in the order they come in', (learner) => {
    let calls = 0
    let late: Packet | undefined
    replace<[Packet], void>(learner, 'receive', (original) => (packet) => {
      if (packet.type === packetTypes.commit && late === undefined && ++calls % 4 === 0) {
        late = packet
        return
      }
      original(packet)
      if (late !== undefined) original(late)
      late = undefined
    })
    replace<[bigint], unknown>(learner, 'nextPending', (original) => (zxid) => {
      const pending = learner.pending as Pending
      const all = pending.all()
      const named = all.filter((txn) => txn.zxid === zxid)
      pending.clear()
      for (const txn of [...named, ...all.filter((other) => other.zxid !== zxid)]) pending.push(txn)
      return original(zxid)
    })
  }),
  ofLeader('a leader commits what it alone has logged', (leader) => {
    const configs = inside(leader, 'core', 'parts', 'configs')
    const verifier = configs.verifier as object
    replace<[], void>(inside(leader, 'broadcast'), 'advanceCommit', (original) => () => {
      configs.verifier = { ...verifier, isQuorum: (acks: ReadonlySet<bigint>) => acks.size > 0 }
      original()
      configs.verifier = verifier
    })
  }),
  ofLeader('an acknowledgement counts for what came after it', (leader) => {
    replace<[bigint, bigint], void>(
      inside(leader, 'broadcast'),
      'acknowledge',
      (original) => (sid, zxid) => {
        original(sid, zxid)
        original(sid, zxid + 1n)
      },
    )
  }),
  ofLeader(
    'now and then an observer is not informed',
    (_leader, _peer, role) => {
      replace<[LinkInside, string], boolean>(role, 'accept', (original) => (link, port) => {
        let informed = 0
        replace<Sent, void>(link, 'sendPacket', (send) => (packet) => {
          if (packet.type !== packetTypes.inform || ++informed % 10 !== 0) send(packet)
        })
        return original(link, port)
      })
    },
    { shape: 'observers' },
  ),
  ofLearner('a write overtakes another on its way to the leader', (_learner, _peer, { link }) =>
    delaying(link, packetTypes.request, 5),
  ),
  ofLearner('a sync is answered without asking the leader', (_learner, _peer, { upstream }) => {
    Reflect.set(upstream, 'sync', undefined)
  }),
  {
    name: 'a client that has seen more is served',
    servers: 3,
    joined: (peer) => {
      replace<[unknown, Reader], boolean>(
        inside(peer, 'pipeline', 'admission'),
        'greet',
        (original) => (connection, body) => {
          const changedBytes = body.bytes.slice(body.position, body.end)
          changedBytes.fill(0, 4, 12)
          return original(connection, new Reader(changedBytes))
        },
      )
    },
  },
]
