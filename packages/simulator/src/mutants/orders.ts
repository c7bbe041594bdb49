/** Errors in the order in which something becomes durable, is sent, and counts. */
import type { Disk, EnsemblePeer, SnapshotSource, WriteHandle } from '@zabra/core'
import { codes, packetTypes, type PacketName } from '@zabra/protocol'
import { delaying } from './broadcast.ts'
import { changed } from './changed-disk.ts'
import { inside, replace } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'
import { ofLeader, ofLearner, type LinkInside } from './roles.ts'

type Sent = Parameters<LinkInside['sendPacket']>

const packet = (
  name: PacketName,
  zxid: bigint,
  data: Uint8Array | null = null,
): Sent[0] & { authinfo: null } => ({ type: packetTypes[name], zxid, data, authinfo: null })

const isLog = (path: string): boolean => /\/(new\.)?log\.[0-9a-f]+$/.test(path)
const isSnapshot = (path: string): boolean => /\/snapshot\.[0-9a-f]+/.test(path)
const isEpoch = (path: string): boolean => path.includes('Epoch')

/** Skips the directory sync after the last call of this kind on such a file. */
function withoutSyncAfter(
  disk: Disk,
  call: 'rename' | 'remove',
  concerns: (path: string) => boolean,
): Disk {
  let isLeftOut = false
  return changed(disk, {
    [call]: async (path: string, to: string) => {
      if (concerns(path)) isLeftOut = true
      await (call === 'rename' ? disk.rename(path, to) : disk.remove(path))
    },
    syncDirectory: async (directory) => {
      if (!isLeftOut) await disk.syncDirectory(directory)
      isLeftOut = false
    },
  })
}

/** Replaces the handles through which files are written. */
function withHandles(
  disk: Disk,
  call: 'create' | 'openWrite',
  change: (handle: WriteHandle, path: string) => WriteHandle,
): Disk {
  return changed(disk, {
    [call]: async (path: string, options?: object) => {
      const handle = await (call === 'create' ? disk.create(path, options) : disk.openWrite(path))
      return change(handle, path)
    },
  })
}

const onDisk: readonly Mutant[] = [
  {
    name: 'an epoch file gets its name before it is synced',
    servers: 3,
    disk: (disk) =>
      withHandles(disk, 'create', (handle, path) =>
        isEpoch(path) ? { ...handle, sync: async () => {} } : handle,
      ),
  },
  {
    name: 'the name of an epoch file is not synced',
    servers: 3,
    disk: (disk) => withoutSyncAfter(disk, 'rename', isEpoch),
  },
  {
    name: 'the name of a new log is not synced',
    disk: (disk) => withoutSyncAfter(disk, 'rename', isLog),
  },
  {
    name: 'logs go before it is durable that their snapshots are gone',
    servers: 3,
    disk: (disk) => withoutSyncAfter(disk, 'remove', isSnapshot),
  },
  {
    name: 'that later logs were removed is not synced',
    servers: 3,
    disk: (disk) => withoutSyncAfter(disk, 'remove', isLog),
  },
  {
    name: 'a snapshot is stored before the log has what it contains',
    servers: 3,
    faults: ['churn'],
    joined: (peer) => {
      const source = new Proxy(peer, {
        get: (target, name): unknown => {
          const value: unknown = Reflect.get(target, name)
          if (name === 'flush') return undefined
          return typeof value === 'function' ? (value.bind(target) as unknown) : value
        },
      })
      Reflect.set(inside(peer, 'journal', 'snapshots'), 'source', source)
    },
  },
  ofLearner(
    'what was there goes before the snapshot from the leader is stored',
    (_learner, peer, { parts }) => {
      replace<[], Promise<void>>(parts, 'takeSnapshot', (original) => async () => {
        await removeAll(peer)
        await original()
      })
    },
  ),
]

async function removeAll(peer: EnsemblePeer): Promise<void> {
  const { disk, recovery } = inside(peer, 'parts') as unknown as {
    disk: Disk
    recovery: { snapshotDir: string; logDir: string }
  }
  for (const directory of [recovery.snapshotDir, recovery.logDir]) {
    for (const { name } of await disk.list(directory)) {
      const path = `${directory}/${name}`
      if (isLog(path) || isSnapshot(path)) await disk.remove(path)
    }
    await disk.syncDirectory(directory)
  }
}

/** The learners of a leader, and how packets are sent to them. */
interface LearnersInside {
  readonly led: Set<{ isObserver: boolean; hasReached(state: string): boolean }>
  send(learner: object, packet: Sent[0]): void
  tell(learner: object, packet: Sent[0], bytes: number): void
  release(learner: object): void
}

interface ProposalInside {
  readonly zxid: bigint
  readonly payload: Uint8Array
}

/** Makes the leader believe that a server has logged everything up to a transaction. */
function acknowledge(broadcast: object, sid: bigint, zxid: bigint): void {
  ;(Reflect.get(broadcast, 'acknowledge') as (sid: bigint, zxid: bigint) => void).call(
    broadcast,
    sid,
    zxid,
  )
}

const amongServers: readonly Mutant[] = [
  {
    name: 'NEWLEADER is acknowledged while the epoch is still being written',
    servers: 3,
    joined: (peer) => {
      const epochs = inside(peer, 'parts', 'epochs')
      replace<[bigint], Promise<void>>(epochs, 'setCurrent', (original) => async (epoch) => {
        original(epoch).catch(() => {})
        epochs.current = epoch
      })
    },
  },
  ofLeader('UPTODATE is sent before a quorum has the history', (leader) => {
    const learners = inside(leader, 'core', 'learners') as unknown as LearnersInside
    replace<[object, Uint8Array], void>(
      inside(leader, 'synchronization'),
      'complete',
      (original) => (learner, config) => {
        original(learner, config)
        learners.send(learner, packet('upToDate', -1n))
        Reflect.set(learner, 'current', 'upToDate')
        learners.release(learner)
      },
    )
  }),
  ofLeader('NEWLEADER goes ahead of the history', (leader, _peer, { connections }) => {
    const links = connections.links as Map<object, LinkInside>
    replace<[{ to: object }], Promise<void>>(
      connections,
      'sendHistory',
      (original) => (history) => {
        let isSent = false
        replace<Sent, void>(links.get(history.to)!, 'sendPacket', (send) => (sent) => {
          const { type } = sent
          if (type === packetTypes.newLeader && isSent) return
          send(sent)
          if (type !== packetTypes.diff && type !== packetTypes.trunc) return
          isSent = true
          const epoch = leader.epoch as bigint
          const { configNow } = inside(leader, 'synchronization')
          send(packet('newLeader', epoch << 32n, configNow as Uint8Array))
        })
        return original(history)
      },
    )
  }),
  ofLeader(
    'observers are told what is proposed',
    (leader) => {
      const learners = inside(leader, 'core', 'learners') as unknown as LearnersInside
      const broadcast = inside(leader, 'broadcast')
      replace<[ProposalInside], void>(broadcast, 'proposed', (original) => (proposal) => {
        original(proposal)
        const { zxid, payload } = proposal
        for (const learner of learners.led) {
          if (!learner.isObserver || !learner.hasReached('synchronizing')) continue
          learners.tell(learner, packet('inform', zxid, payload), payload.length)
        }
      })
      replace<[{ isObserver: boolean }, object], void>(
        broadcast,
        'sendCommit',
        (original) => (learner, txn) => {
          if (!learner.isObserver) original(learner, txn)
        },
      )
    },
    { shape: 'observers', observerMasters: false },
  ),
  ofLeader('a leader counts its own log before it is written', (leader, peer) => {
    const broadcast = inside(leader, 'broadcast')
    replace<[ProposalInside], void>(broadcast, 'proposed', (original) => (proposal) => {
      original(proposal)
      const self = inside(peer, 'options').self as bigint
      acknowledge(broadcast, self, proposal.zxid)
    })
  }),
  ofLeader('the answer to UPTODATE stands for all that was proposed since', (leader) => {
    replace<[{ sid: bigint }, bigint], void>(
      leader,
      'receiveAck',
      (original) => (learner, zxid) => {
        original(learner, zxid)
        const last = inside(leader, 'core', 'outstanding').last as { zxid: bigint } | undefined
        if ((zxid & 0xffff_ffffn) !== 0n || last === undefined) return
        acknowledge(inside(leader, 'broadcast'), learner.sid, last.zxid)
      },
    )
  }),
  ofLearner(
    'a database that is half taken over counts as whole',
    (learner) =>
      Object.defineProperty(learner, 'memoryDiffersFromDisk', { get: () => false, set: () => {} }),
    { zab: { alwaysSendSnapshot: true }, faults: ['crashInTakeover', 'strandedLeader'] },
  ),
  ofLearner('every other sign of life names no session', (_learner, _peer, { upstream }) => {
    let calls = 0
    replace<[bigint], void>(upstream, 'answerPing', (original) => (zxid) => {
      if (++calls % 2 === 0) upstream.touched = new Map()
      original(zxid)
    })
  }),
  ofLearner(
    'now and then a follower applies another value than was written',
    (_learner, _peer, { parts }) => {
      let writes = 0
      replace<[unknown, object, { type: number; body: { data?: Uint8Array } }], void>(
        parts.pipeline as object,
        'commit',
        (original) => (ticket, header, txn) => {
          const isChanged = txn.type === codes.setData && ++writes % 20 === 0
          const body = isChanged ? { ...txn.body, data: new Uint8Array([33]) } : txn.body
          original(ticket, header, { ...txn, body })
        },
      )
    },
  ),
]

const skippedCommit = 15

const onTheWay: readonly Mutant[] = [
  ofLeader('now and then a follower is not told of a commit', (_leader, _peer, role) => {
    let commits = 0
    replace<[LinkInside], void>(role, 'accept', (original) => (link) => {
      replace<Sent, void>(link, 'sendPacket', (send) => (sent) => {
        if (sent.type !== packetTypes.commit || ++commits % skippedCommit !== 0) send(sent)
      })
      original(link)
    })
  }),
  ofLeader('a proposal overtakes another on its way to a follower', (_leader, _peer, role) => {
    replace<[LinkInside], void>(role, 'accept', (original) => (link) => {
      delaying(link, packetTypes.proposal, 10)
      original(link)
    })
  }),
  {
    name: 'a snapshot tells another digest than its tree has',
    servers: 3,
    joined: ({ db }) =>
      replace<[], SnapshotSource>(db, 'snapshotSource', (original) => () => {
        const source = original()
        return {
          ...source,
          finish: () => {
            const end = source.finish()
            return end.digest === undefined ? end : { ...end, digest: end.digest + 1n }
          },
        }
      }),
  },
  {
    name: 'a snapshot lacks the newest session',
    servers: 3,
    joined: ({ db }) =>
      replace<[], SnapshotSource>(db, 'snapshotSource', (original) => () => {
        const source = original()
        return { ...source, sessions: () => [...source.sessions()].slice(0, -1).values() }
      }),
  },
]

const toClients: readonly Mutant[] = [
  {
    name: 'of what one transaction changes only the first is told',
    serving: ({ db }) => {
      const told = new Set<unknown>()
      replace<[unknown, Uint8Array], void>(
        db.watches,
        'deliver',
        (original) => (watcher, frame) => {
          if (!told.has(watcher)) original(watcher, frame)
          told.add(watcher)
        },
      )
      replace<[never, never], unknown>(db, 'apply', (original) => (header, txn) => {
        told.clear()
        return original(header, txn)
      })
    },
  },
]

export const orderMutants: readonly Mutant[] = [
  ...onDisk,
  ...amongServers,
  ...onTheWay,
  ...toClients,
]
