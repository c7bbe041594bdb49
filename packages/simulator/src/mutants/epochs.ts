/** Errors in who may lead, and from when on. */
import type { QuorumVerifier } from '@zabra/core'
import { inside, replace } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'
import { ofLeader, onRole } from './roles.ts'

/** Accepts every set of servers that is not empty. */
const anybody = (acks: ReadonlySet<bigint>): boolean => acks.size > 0

export const epochMutants: readonly Mutant[] = [
  {
    name: 'one server is a quorum',
    servers: 3,
    joined: (peer) => {
      replace<[ReadonlySet<bigint>], boolean>(
        inside(peer, 'members', 'configs', 'verifier'),
        'isQuorum',
        () => (acks) => acks.size > 0,
      )
    },
  },
  {
    name: 'weights are ignored',
    servers: 3,
    shape: 'weighted',
    joined: (peer) => {
      const verifier = inside(peer, 'members', 'configs', 'verifier') as unknown as QuorumVerifier
      const half = verifier.voters.size / 2
      replace<[ReadonlySet<bigint>], boolean>(
        verifier,
        'isQuorum',
        () => (acks) => [...acks].filter((id) => verifier.voters.has(id)).length > half,
      )
    },
  },
  {
    name: 'an observer counts for a quorum',
    servers: 3,
    shape: 'observers',
    joined: (peer) => {
      const verifier = inside(peer, 'members', 'configs', 'verifier') as unknown as QuorumVerifier
      const half = Math.floor(verifier.voters.size / 2)
      Reflect.set(inside(peer, 'members', 'configs'), 'verifier', {
        ...verifier,
        voters: new Set([...verifier.voters, ...verifier.observers]),
        isQuorum: (acks: ReadonlySet<bigint>) => acks.size > half,
      })
      onRole(peer, ['following', 'observing'], (role) =>
        Reflect.set(inside(role, 'learner', 'parts'), 'isObserver', false),
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
    name: 'an epoch is promised while it is still being written',
    servers: 3,
    joined: (peer) => {
      const epochs = inside(peer, 'parts', 'epochs')
      replace<[bigint], Promise<void>>(epochs, 'setAccepted', (original) => async (epoch) => {
        original(epoch).catch(() => {})
        epochs.accepted = epoch
      })
    },
  },
  {
    name: 'the current epoch is on disk as soon as it is accepted',
    servers: 3,
    joined: (peer) => {
      const epochs = inside(peer, 'parts', 'epochs') as {
        current: bigint
        setCurrent(epoch: bigint): Promise<void>
      }
      replace<[bigint], Promise<void>>(epochs, 'setAccepted', (original) => async (epoch) => {
        const { current } = epochs
        await original(epoch)
        await epochs.setCurrent(epoch)
        epochs.current = current
      })
    },
  },
  {
    name: 'the current epoch is never written',
    servers: 3,
    joined: (peer) => {
      const epochs = inside(peer, 'parts', 'epochs')
      replace<[bigint], Promise<void>>(epochs, 'setCurrent', () => async (epoch) => {
        epochs.current = epoch
      })
    },
  },
  ofLeader('a leader takes an epoch that was there before', (leader) => {
    replace<[bigint, bigint], void>(
      inside(leader, 'core', 'discovery'),
      'join',
      (original) => (sid, accepted) => original(sid, accepted > 0n ? accepted - 1n : 0n),
    )
  }),
  {
    name: 'a server leads though its history is shorter',
    servers: 3,
    joined: (peer) => {
      const election = inside(peer, 'electing', 'election')
      replace<[{ zxid: bigint; peerEpoch: bigint }, number], void>(
        election,
        'start',
        (original) => (vote, nowMs) => original({ ...vote, zxid: 0n, peerEpoch: 0n }, nowMs),
      )
      onRole(peer, ['leading'], (role) => {
        inside(role, 'leader', 'core', 'start').epoch = 1n << 60n
      })
    },
  },
  {
    name: 'a server votes with what is committed instead of what it logged',
    servers: 3,
    joined: (peer) => {
      let committed: bigint | undefined
      onRole(peer, ['leaving'], () => {
        committed = peer.lastZxid
      })
      replace<[{ zxid: bigint; peerEpoch: bigint }, number], void>(
        inside(peer, 'electing', 'election'),
        'start',
        (original) => (vote, nowMs) => original({ ...vote, zxid: committed ?? vote.zxid }, nowMs),
      )
    },
  },
  {
    name: 'what was logged and not committed is left out of memory when a role ends',
    servers: 3,
    joined: (peer) => replace(inside(peer, 'history'), 'apply', () => () => {}),
  },
  ofLeader('a leader serves before a quorum has taken its history', (leader) => {
    replace<[bigint], void>(leader, 'acknowledgeNewLeader', (original) => (sid) => {
      original(sid)
      if (leader.isEstablished !== true) (leader.establish as () => void).call(leader)
    })
  }),
  ofLeader('a leader leads on without a quorum', (leader) => {
    const configs = inside(leader, 'core', 'parts', 'configs')
    for (const name of ['halfTick', 'checkConnections']) {
      replace<unknown[], void>(leader, name, (original) => (...args) => {
        const verifier = configs.verifier as QuorumVerifier
        configs.verifier = { ...verifier, isQuorum: anybody }
        original(...args)
        configs.verifier = verifier
      })
    }
  }),
]
