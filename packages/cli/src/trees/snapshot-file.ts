import { open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { noData, type Acl } from '@zabra/client'
import { loadSnapshot, SnapshotError } from '@zabra/core'
import { containerOwner, StatPersisted, type Reader } from '@zabra/protocol'
import { CommandError } from '../framework/errors.ts'
import { isWithin } from '../node/paths.ts'
import type { FileTree } from './tree-file.ts'
import type { NodeKind, TreeNode } from './tree.ts'

const ttlMark = 0xff0000n

/**
 * The nodes of a snapshot, of zabra's or Apache's server. A snapshot knows what servers do not tell
 * clients: which nodes are containers, and which have a TTL. The root has the path '' in it.
 */
export async function readSnapshotFile(file: string): Promise<FileTree> {
  const acls = new Map<bigint, readonly Acl[]>()
  const stored: { path: string; data: Uint8Array; acl: bigint; stat: StatPersisted }[] = []
  const sink = {
    expect: () => {},
    session: () => {},
    digest: () => {},
    acl: (id: bigint, acl: Acl[]) => void acls.set(id, acl),
    node(reader: Reader): boolean {
      const path = reader.ustring()
      if (path === '/') return false
      const view = reader.buffer()
      const data = view === null ? noData : new Uint8Array(view)
      const acl = reader.long()
      const stat = StatPersisted.read(reader)
      stored.push({ path, data, acl, stat })
      return true
    },
  }
  try {
    const { disk, name } = await readable(file)
    await loadSnapshot(disk, dirname(file), name, sink)
  } catch (error) {
    if (error instanceof SnapshotError) throw new CommandError(error.message, { code: 'file' })
    throw error
  }
  const tree = new Map<string, TreeNode>()
  // A snapshot has them in any order.
  const paths = stored.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  for (const { path, data, acl, stat } of paths) {
    const at = path === '' ? '/' : path
    if (isWithin(at, '/zookeeper')) continue
    const { kind, ttlMs } = kindOf(stat.ephemeralOwner)
    const counter = stat.cversion
    tree.set(at, { path: at, data, acl: acls.get(acl) ?? openToAll, kind, ttlMs, counter })
  }
  return { head: { zabra: 'tree', version: 1, top: '/' }, tree }
}

/** ACLs by number; -1 is the open one, which no table has. */
const openToAll: readonly Acl[] = [{ perms: 31, id: { scheme: 'world', id: 'anyone' } }]

function kindOf(owner: bigint): { kind: NodeKind; ttlMs: number | undefined } {
  if (owner === 0n) return { kind: 'persistent', ttlMs: undefined }
  if (owner === containerOwner) return { kind: 'container', ttlMs: undefined }
  const unsigned = BigInt.asUintN(64, owner)
  if (unsigned >> 40n === ttlMark) return { kind: 'ttl', ttlMs: Number(BigInt.asUintN(40, owner)) }
  return { kind: 'ephemeral', ttlMs: undefined }
}

/** The file as the core reads it; gzip is unpacked in memory. */
async function readable(file: string) {
  const packed = file.endsWith('.gz')
  const name = packed ? basename(file, '.gz') : basename(file)
  const handle = await open(file)
  if (packed) {
    const bytes = await promisify(gunzip)(await handle.readFile())
    await handle.close()
    const read = (position: number, into: Uint8Array): Promise<number> => {
      const part = bytes.subarray(position, position + into.length)
      into.set(part)
      return Promise.resolve(part.length)
    }
    return {
      name,
      disk: { openRead: async () => ({ bytes: bytes.length, read, close: async () => {} }) },
    }
  }
  const { size } = await handle.stat()
  const read = async (position: number, into: Uint8Array): Promise<number> => {
    const { bytesRead } = await handle.read(into, 0, into.length, position)
    return bytesRead
  }
  return {
    name,
    disk: { openRead: async () => ({ bytes: size, read, close: () => handle.close() }) },
  }
}
