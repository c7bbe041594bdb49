/** Errors that show only where disks do not keep, or do not take, what they are given. */
import type { Membership, WriteHandle } from '@zabra/core'
import type { SimDisk } from '../world/sim-disk.ts'
import { changed } from './changed-disk.ts'
import { inside, replace } from './inside.ts'
import { onRole } from './roles.ts'
import type { Mutant } from '../cluster/mutant.ts'

/** By what a process sees of each. */
const disksOf = new WeakMap<object, SimDisk>()

export const windowMutants: readonly Mutant[] = [
  {
    name: 'a start does not look how far the logs once went',
    faults: ['damage'],
    disk: (disk) =>
      changed(disk, {
        openRead: (path) => disk.openRead(path.replace(/zabra\.extent$/, 'none')),
      }),
  },
  {
    name: 'a server without a quorum takes writes',
    servers: 3,
    zab: { readOnlyMode: true },
    faults: ['visitors'],
    joined: (peer) => {
      replace<[], void>(inside(peer, 'parts', 'service'), 'serveReads', (original) => () => {
        original()
        Reflect.set(inside(peer, 'pipeline', 'upstream'), 'isReadOnly', false)
      })
    },
  },
  {
    name: 'a follower whose tree differs goes on',
    servers: 3,
    faults: ['wrongTree'],
    joined: (peer) =>
      onRole(peer, ['following'], (role) => replace(role, 'treeDiffers', () => () => {})),
  },
  {
    name: 'a leader that its own prediction or a quorum contradicts goes on',
    servers: 3,
    faults: ['wrongTree'],
    joined: (peer) => onRole(peer, ['leading'], (role) => replace(role, 'makeWay', () => () => {})),
  },
  {
    name: 'a server whose tree differs only reads its disk again',
    servers: 3,
    faults: ['wrongTree'],
    joined: (peer) =>
      replace(inside(peer, 'parts', 'standing'), 'treeDiffers', () => () => 'reload'),
  },
  {
    name: 'a restored tree gets a zxid that was used before',
    servers: 3,
    restores: true,
    joined: (peer) => {
      const restoring = inside(peer, 'parts', 'restoring')
      const parts = inside(restoring, 'parts')
      const history = inside(parts, 'history')
      const forgetful = new Proxy(history, {
        get: (target, name) => {
          if (name === 'lastZxid') return 0n
          const value: unknown = Reflect.get(target, name)
          return typeof value === 'function' ? (value.bind(target) as unknown) : value
        },
      })
      restoring.parts = { ...parts, history: forgetful }
    },
  },
  {
    name: 'a leader that has restored a tree goes on without giving it to the others',
    servers: 3,
    restores: true,
    joined: (peer) =>
      replace(inside(peer, 'parts', 'restoring'), 'leadAgain', () => () => Promise.resolve()),
  },
  {
    name: 'a configuration that cannot be saved does not count',
    servers: 3,
    isChanging: true,
    faults: ['configRefused'],
    disk: (disk, under) => {
      disksOf.set(disk, under)
      return disk
    },
    joined: (peer) => {
      const { condition } = disksOf.get(inside(peer, 'parts', 'disk'))!
      replace<[Membership], boolean>(
        inside(peer, 'members', 'configs'),
        'commit',
        (original) => (config) => condition.configRefuses === undefined && original(config),
      )
    },
  },
  {
    name: 'without forced syncs the last write to a log waits for the next in the process',
    servers: 3,
    forceSync: false,
    disk: (disk) =>
      changed(disk, {
        create: async (path, options) => {
          const handle = await disk.create(path, options)
          return isLog(path) ? { ...handle, write: oneLate(handle) } : handle
        },
      }),
  },
]

function isLog(path: string): boolean {
  return /\/(new\.)?log\.[0-9a-f]+$/.test(path)
}

function oneLate(handle: WriteHandle): WriteHandle['write'] {
  let held: Parameters<WriteHandle['write']> | undefined
  return async (bytes, position) => {
    if (held !== undefined) await handle.write(...held)
    held = position === 0 ? undefined : [new Uint8Array(bytes), position]
    if (position === 0) await handle.write(bytes, position)
  }
}
