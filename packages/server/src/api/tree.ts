import { joinPath, StatResponse, type Reader, type Stat } from '@zabra/protocol'
import { isRefused } from './api-error.ts'
import type { InternalClient } from './internal-client.ts'
import { Slices } from '../base/slices.ts'
import { sortInSlices } from './slices.ts'

/** Undefined if there is no such znode; `hidden` if its ACL does not let the caller read it. */
export async function statOf(
  client: InternalClient,
  path: string,
): Promise<Stat | 'hidden' | undefined> {
  try {
    return (await client.call('exists', { path, watch: false })).stat
  } catch (error) {
    if (isRefused(error, 'noNode')) return undefined
    if (isRefused(error, 'noAuth')) return 'hidden'
    throw error
  }
}

interface Listing {
  readonly path: string
  readonly stat: Stat
  readonly names: readonly string[]
}

const keptNamesMin = 1000
/** The last long listing of each client, so that its pages need not be sorted again. */
const lastListings = new WeakMap<InternalClient, Listing>()

/** The names of the children, sorted. */
export async function childrenOf(client: InternalClient, path: string): Promise<Listing> {
  const last = lastListings.get(client)
  if (last?.path === path) {
    const stat = await statOf(client, path)
    // Compared because the ACL may have changed as well as the list.
    if (typeof stat === 'object' && sameList(stat, last.stat)) return { ...last, stat }
  }
  const body = await client.callForBody('getChildren2', { path, watch: false })
  const listing = { path, ...(await readListing(body)) }
  if (listing.names.length >= keptNamesMin) lastListings.set(client, listing)
  return listing
}

function sameList(a: Stat, b: Stat): boolean {
  return (
    a.czxid === b.czxid &&
    a.pzxid === b.pzxid &&
    a.cversion === b.cversion &&
    a.aversion === b.aversion
  )
}

async function readListing(body: Reader): Promise<{ names: readonly string[]; stat: Stat }> {
  const slices = new Slices()
  const names: string[] = []
  const count = Math.max(0, body.int())
  for (let i = 0; i < count; i++) {
    names.push(body.ustring())
    if (i % 512 === 511) await slices.pause()
  }
  const stat = StatResponse.read(body).stat
  return { names: await sortInSlices(names), stat }
}

/** A node of a walk; it has children if the caller may see them. */
export interface Walked {
  readonly path: string
  readonly children: readonly string[]
  readonly isUnreadable: boolean
}

/** A subtree, parents before children, in the order of names. */
export async function* walk(
  client: InternalClient,
  top: string,
  isWanted: (path: string) => boolean = () => true,
): AsyncGenerator<Walked, void, undefined> {
  const slices = new Slices()
  const left = [top]
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    await slices.pause()
    let children: readonly string[] = []
    let isUnreadable = false
    try {
      children = (await childrenOf(client, path)).names
    } catch (error) {
      if (isRefused(error, 'noNode') && path !== top) continue
      if (!isRefused(error, 'noAuth')) throw error
      isUnreadable = true
    }
    yield { path, children, isUnreadable }
    for (let i = children.length - 1; i >= 0; i--) {
      const child = joinPath(path, children[i]!)
      if (isWanted(child)) left.push(child)
      if (i % 4096 === 4095) await slices.pause()
    }
  }
}
