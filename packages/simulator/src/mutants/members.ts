/** Errors in how the members of an ensemble are changed. */
import {
  formatMembership,
  parseMembership,
  verifierOf,
  type EnsemblePeer,
  type Membership,
  type QuorumVerifier,
} from '@zabra/core'
import type { Notification } from '@zabra/protocol'
import { changed } from './changed-disk.ts'
import { inside, replace } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'
import { ofLeader, ofLearner } from './roles.ts'

/** The members as a server knows them. */
interface Book {
  committed: Membership
  seen: Membership | undefined
  verifier: QuorumVerifier
  commit(config: Membership): boolean
}

function bookOf(peer: EnsemblePeer): Book {
  return inside(peer, 'members', 'configs') as unknown as Book
}

/** Changes which servers must agree. */
function deciding(name: string, whose: (book: Book) => QuorumVerifier): Mutant {
  return {
    name,
    servers: 3,
    isChanging: true,
    joined: (peer) => {
      const book = bookOf(peer)
      replace<[], QuorumVerifier>(book, 'combined', () => () => whose(book))
      book.verifier = whose(book)
    },
  }
}

const changing = { isChanging: true }

export const memberMutants: readonly Mutant[] = [
  deciding('a change of members is committed by the old ones alone', ({ committed }) =>
    verifierOf(committed),
  ),
  deciding('a change of members is committed by the new ones alone', ({ committed, seen }) =>
    verifierOf(seen ?? committed),
  ),
  deciding('whoever follows counts for a quorum', ({ committed }) => {
    const verifier = verifierOf(committed)
    return { ...verifier, isQuorum: (acks) => acks.size > verifier.voters.size / 2 }
  }),
  ofLearner(
    'a follower goes by a configuration that is only proposed',
    (learner, peer) => {
      replace<[object], void>(learner, 'see', (original) => (txn) => {
        original(txn)
        const { seen } = bookOf(peer)
        if (seen !== undefined) bookOf(peer).commit(seen)
      })
    },
    changing,
  ),
  {
    name: 'what a server has seen of a configuration is forgotten when its role ends',
    servers: 3,
    isChanging: true,
    joined: (peer) => {
      const book = bookOf(peer) as Book & { setSeen(config: Membership | undefined): void }
      book.setSeen(undefined)
      replace<[], void>(inside(peer, 'members'), 'readLogged', () => () => book.setSeen(undefined))
    },
  },
  {
    name: 'whatever configuration another server tells of is taken over',
    servers: 3,
    isChanging: true,
    joined: (peer) => {
      const election = inside(peer, 'electing', 'election')
      const book = bookOf(peer) as Book & { changed(before: { committed: Membership }): void }
      replace<[Notification], boolean>(election, 'isNewerConfig', () => ({ config }) => {
        const isOther = config !== undefined && config !== formatMembership(book.committed)
        const parsed = isOther && election.state === 'looking' ? parseMembership(config) : undefined
        if (parsed === undefined || !('value' in parsed)) return false
        const { committed } = book
        book.committed = parsed.value
        book.changed({ committed })
        return false
      })
    },
  },
  {
    name: 'the members are written to disk and not synced',
    servers: 3,
    isChanging: true,
    disk: (disk) =>
      changed(disk, {
        create: async (path, options) => {
          const file = await disk.create(path, options)
          return path.includes('zoo.cfg') ? { ...file, sync: () => Promise.resolve() } : file
        },
      }),
  },
  ofLeader(
    'a leader that is no member any more leads on',
    (leader, peer) => {
      replace<[bigint], bigint>(
        inside(leader, 'handOver'),
        'successor',
        () => () => inside(peer, 'options').self as bigint,
      )
      replace<[Error], void>(inside(leader, 'core'), 'end', (original) => (reason) => {
        if (reason.name !== 'RoleChange') original(reason)
      })
    },
    changing,
  ),
  ofLearner(
    'a server that joins does not go by the configuration of its leader',
    (learner) => replace(learner, 'enterConfig', () => () => {}),
    changing,
  ),
]
