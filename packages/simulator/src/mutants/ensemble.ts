/** Errors in how servers agree. */
import type { EnsemblePeer } from '@zabra/core'
import { inside, replace } from './inside.ts'
import type { Mutant } from './mutant.ts'

/** Every `n`-th call is left out. */
function skipping(n: number): (original: (...args: unknown[]) => void) => typeof original {
  let calls = 0
  return (original) =>
    (...args) => {
      if (++calls % n !== 0) original(...args)
    }
}

/** Does something to each leader, or learner, that the peer becomes. */
function onRole(
  peer: EnsemblePeer,
  name: 'leader' | 'learner',
  change: (role: object) => void,
): void {
  let role: unknown
  Object.defineProperty(peer, name, {
    get: () => role,
    set: (value: unknown) => {
      role = value
      if (typeof value === 'object' && value !== null) change(value)
    },
  })
}

export const ensembleMutants: readonly Mutant[] = [
  {
    name: 'one server is a quorum',
    servers: 3,
    joined: (peer) => {
      replace<[ReadonlySet<bigint>], boolean>(
        inside(peer, 'verifier'),
        'isQuorum',
        () => (acks) => acks.size > 0,
      )
    },
  },
  {
    name: 'the accepted epoch is forgotten',
    servers: 3,
    joined: (peer) => {
      const epochs = inside(peer, 'parts', 'epochs')
      replace<[bigint], Promise<void>>(epochs, 'setAccepted', () => (epoch) => {
        epochs.accepted = epoch
        return Promise.resolve()
      })
    },
  },
  {
    name: 'a server leads though its history is shorter',
    servers: 3,
    joined: (peer) => {
      const election = inside(peer, 'election')
      replace<[{ zxid: bigint; peerEpoch: bigint }, number], void>(
        election,
        'start',
        (original) => (vote, nowMs) => original({ ...vote, zxid: 0n, peerEpoch: 0n }, nowMs),
      )
      onRole(peer, 'leader', (leader) => Reflect.set(leader, 'startEpoch', 1n << 60n))
    },
  },
  {
    name: 'a follower acknowledges before its log has it',
    servers: 3,
    joined: (peer) =>
      onRole(peer, 'learner', (learner) => {
        replace<[{ zxid: bigint }], void>(learner, 'append', (original) => (txn) => {
          original(txn)
          ;(learner as { logged(zxid: bigint): void }).logged(txn.zxid)
        })
      }),
  },
  {
    name: 'a follower does not log every twentieth proposal',
    servers: 3,
    joined: (peer) =>
      onRole(peer, 'learner', (learner) => replace(learner, 'append', skipping(20))),
  },
]
