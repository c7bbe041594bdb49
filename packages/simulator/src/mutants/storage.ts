/** Errors in writing to the disk and reading from it. */
import type { Database, Disk, Journal, SnapshotSource } from '@zabra/core'
import { Reader } from '@zabra/protocol'
import { logDirectory, dataDirectory } from '../cluster/server-options.ts'
import { changed } from './changed-disk.ts'
import { inside, replace } from './inside.ts'
import type { Mutant } from '../cluster/mutant.ts'

const isLog = (path: string): boolean => /\/(new\.)?log\.[0-9a-f]+$/.test(path)

export const storageMutants: readonly Mutant[] = [
  {
    name: 'the log is never synced',
    disk: (disk) =>
      changed(disk, {
        create: (path, options) => disk.create(path, isLog(path) ? {} : options),
      }),
  },
  {
    name: 'a write is acknowledged while it is still being written',
    disk: (disk) =>
      changed(disk, {
        create: async (path, options) => {
          const handle = await disk.create(path, options)
          if (!isLog(path)) return handle
          return {
            ...handle,
            write: async (bytes, position) => {
              const writing = handle.write(new Uint8Array(bytes), position)
              if (position === 0) await writing
              else writing.catch(() => {})
            },
          }
        },
      }),
  },
  {
    name: 'directories are not synced',
    disk: (disk) => changed(disk, { syncDirectory: async () => {} }),
  },
  {
    name: 'a snapshot is named ahead of its content',
    serving: ({ db }) => {
      replace(db, 'snapshotSource', (original: () => SnapshotSource) => () => {
        const source = original()
        return { ...source, zxid: source.zxid + 1n }
      })
    },
  },
  {
    name: 'a snapshot is renamed before it is synced',
    disk: (disk) =>
      changed(disk, {
        create: async (path, options) => {
          const handle = await disk.create(path, options)
          return path.includes('snapshot') ? { ...handle, sync: async () => {} } : handle
        },
      }),
  },
  {
    name: 'retention deletes a log that is still needed',
    serving: ({ journal, disk }) => {
      replace(journal, 'purgeSoon', () => () => void purgeTooMuch(journal, disk))
    },
  },
  {
    name: 'a torn tail is accepted',
    disk: (disk, { files }) =>
      changed(disk, {
        openRead: async (path) => {
          const handle = await disk.openRead(path)
          if (!isLog(path)) return handle
          return {
            ...handle,
            bytes: handle.bytes,
            read: async (position: number, into: Uint8Array) => {
              const count = await handle.read(position, into)
              return position >= 16
                ? withChecksumsMended(files.content(path), position, into, count)
                : count
            },
          }
        },
      }),
  },
  {
    name: 'recovery trusts what is only in the cache of the system',
    disk: (disk) =>
      changed(disk, {
        openWrite: async (path) => {
          const handle = await disk.openWrite(path)
          return { ...handle, write: async () => {}, sync: async () => {} }
        },
      }),
  },
  {
    name: 'a full disk does not keep a write from being acknowledged',
    serving: ({ log }) => {
      replace(log, 'append', (original: (batch: unknown) => Promise<void>) => async (batch) => {
        await original(batch).catch((error: Error) => {
          if (error.name !== 'DiskFullError') throw error
        })
      })
    },
  },
  {
    name: 'the last zxid is handed out again after a restart',
    loaded: (db) => {
      if (db.lastZxid > 0n) db.lastZxid--
    },
  },
  {
    name: 'sequence numbers start again after a restart',
    loaded: forgetCreateCounts,
  },
  {
    name: 'a restart forgets the sessions',
    loaded: (db) => db.sessions.clear(),
  },
]

/**
 * Deletes all logs that begin below the newest snapshot, although the last of them extends beyond
 * it.
 */
async function purgeTooMuch(journal: Journal, disk: Disk): Promise<void> {
  const newest = journal.stats.lastSnapshotZxid
  for (const directory of new Set([dataDirectory, logDirectory])) {
    const files = await disk.list(directory).catch(() => [])
    for (const { name } of files) {
      const zxid = /^log\.([0-9a-f]+)$/.exec(name)?.[1]
      if (zxid !== undefined && BigInt(`0x${zxid}`) < newest)
        await disk.remove(`${directory}/${name}`)
    }
  }
}

/** Corrects the checksum of everything that looks like a record. */
function withChecksumsMended(
  file: Uint8Array,
  position: number,
  into: Uint8Array,
  count: number,
): number {
  const reader = new Reader(file)
  for (let at = 16; at + 13 <= file.length;) {
    reader.position = at + 8
    const length = reader.int()
    if (length < 32 || at + 13 + length > file.length) break
    const sum = adler32(file.subarray(at + 12, at + 12 + length))
    const view = new DataView(into.buffer, into.byteOffset, into.byteLength)
    const target = at - position
    if (target >= 0 && target + 13 + length <= count) {
      view.setUint32(target, 0)
      view.setUint32(target + 4, sum)
      into[target + 12 + length] = 0x42
    }
    at += 13 + length
  }
  return count
}

function adler32(bytes: Uint8Array): number {
  let a = 1
  let b = 0
  for (const byte of bytes) {
    a = (a + byte) % 65521
    b = (b + a) % 65521
  }
  return ((b << 16) | a) >>> 0
}

/** Sets the number of children ever created to the number of existing children. */
function forgetCreateCounts(db: Database): void {
  const tree = inside(db, 'tree')
  replace(tree, 'copyStat', (original: (id: number, view: DataView) => void) => {
    return (id, view) => {
      original(id, view)
      const creates = view.getInt32(36)
      const children = view.getInt32(56)
      if (creates > children) view.setInt32(36, children)
    }
  })
}
