import { isRefusal, joinPath, json, text, type Client } from '@zabra/client'
import { onAbort } from '@zabra/client/internal'
import { persist, type NodeState } from './nodes/node.ts'
import { TreeCache } from './tree-cache.ts'

export type Decision = 'commit' | 'abort'

/**
 * The counter of the votes. `everyone`: each site watches all others and derives the decision.
 * `coordinator`: one site counts and writes the outcome, which is all that the others watch; if it
 * fails, another one replaces it.
 */
export type CommitForm = 'everyone' | 'coordinator'

/**
 * The data of a site's node, in this order: nothing, `joined`, its vote, and the acknowledgment
 * that it has carried out the decision.
 */
export type SiteState = '' | 'joined' | Decision | 'committed' | 'aborted'

/** The data of the transaction's node. */
export interface Header {
  readonly form: CommitForm
  readonly creator: string
  /** The number of sites. */
  readonly sites: number
}

export const headers = json<Header>()

/** The nodes of a transaction. */
export function layout(path: string) {
  return {
    proposal: joinPath(path, 'proposal'),
    sites: joinPath(path, 'sites'),
    alives: joinPath(path, 'alive'),
    site: (name: string) => joinPath(path, `sites/${name}`),
    alive: (name: string) => joinPath(path, `alive/${name}`),
    coordinator: joinPath(path, 'coordinator'),
    outcome: joinPath(path, 'outcome'),
  }
}

export const stateOf = ({ data }: NodeState): SiteState => text.decode(data) as SiteState

/** Throws for other values, which the compiler does not catch everywhere. */
export function checkDecision(decision: Decision): void {
  if (decision !== 'commit' && decision !== 'abort')
    throw new TypeError(`'${String(decision)}' is neither 'commit' nor 'abort'`)
}

export function voteIn(state: SiteState): Decision | undefined {
  if (state === 'commit' || state === 'committed') return 'commit'
  return state === 'abort' || state === 'aborted' ? 'abort' : undefined
}

/** The decision that follows from the votes. A transaction that no longer exists was aborted. */
function judge(cache: TreeCache): Decision | undefined {
  const header = cache.get(cache.path)
  if (header === undefined) return 'abort'
  const { sites } = layout(cache.path)
  const states = cache.children(sites).map((name) => stateOf(cache.get(joinPath(sites, name))!))
  return count(header, states)
}

/** The same by reading the current state, without a watch. */
export async function lookForDecision(
  client: Client,
  path: string,
  signal: AbortSignal,
): Promise<Decision | undefined> {
  const at = layout(path)
  const read = (node: string): Promise<NodeState> => mustRead(client, node, signal)
  try {
    await persist(client, signal, () => client.sync(path, { signal }))
    const header = await read(path)
    const names = await persist(client, signal, () => client.children(at.sites, { signal }))
    const sites = await Promise.all(names.map((name) => read(at.site(name))))
    return count(header, sites.map(stateOf))
  } catch (error) {
    // It is deleted in one transaction.
    if (isRefusal(error, 'noNode')) return 'abort'
    throw error
  }
}

/** Rejects if the node does not exist, or may not be read. */
export function mustRead(client: Client, path: string, signal: AbortSignal): Promise<NodeState> {
  return persist(client, signal, async () => {
    const { data, stat } = await client.get(path, { signal })
    return { path, data, stat }
  })
}

function count(header: NodeState, states: readonly SiteState[]): Decision | undefined {
  const votes = states.map(voteIn)
  // With any other data, nobody can have seen that all agree.
  if (votes.includes('abort')) return 'abort'
  if (states.includes('committed')) return 'commit'
  const isWhole = votes.length === headers.decode(header.data).sites
  return isWhole && votes.every((vote) => vote === 'commit') ? 'commit' : undefined
}

/**
 * Watches the votes until they decide. For a site that joined and has failed without a vote, it
 * writes `abort`; after a timeout, if there is one, also for sites that never joined.
 */
export async function decide(
  client: Client,
  path: string,
  signal: AbortSignal,
  abortAfterMs: number | undefined,
): Promise<Decision> {
  await using cache = await TreeCache.open(client, path, { signal })
  const stop: (() => void)[] = []
  try {
    return await new Promise<Decision>((resolve, reject) => {
      let isLate = false
      const look = (): void => {
        try {
          const decision = judge(cache)
          if (decision !== undefined) resolve(decision)
          else replaceMissing(client, cache, isLate, signal).catch(reject)
        } catch (error) {
          // Somebody has written data that cannot be decoded.
          reject(error)
        }
      }
      stop.push(cache.onChange(look), onAbort(signal, reject), onAbort(cache.signal, reject))
      if (abortAfterMs !== undefined)
        stop.push(
          client.host.timer(abortAfterMs, () => {
            isLate = true
            look()
          }),
        )
      look()
    })
  } finally {
    for (const undo of stop) undo()
  }
}

async function replaceMissing(
  client: Client,
  cache: TreeCache,
  isLate: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { sites, site, alive } = layout(cache.path)
  const missing = cache
    .children(sites)
    .map((name) => ({ name, node: cache.get(site(name))! }))
    .filter(({ name, node }) => {
      const state = stateOf(node)
      const hasGone = state === 'joined' && cache.get(alive(name)) === undefined
      return voteIn(state) === undefined && (isLate || hasGone)
    })
  await Promise.all(
    missing.map(({ name, node }) => writeState(client, site(name), 'abort', node, signal)),
  )
}

/**
 * Writes the next state of a site, unless it has another one by now. Repeating it is harmless,
 * because the second write is refused.
 */
export async function writeState(
  client: Client,
  path: string,
  state: SiteState,
  { stat }: NodeState,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await persist(client, signal, () =>
      client.set(path, state, { ifVersion: stat.version, signal }),
    )
  } catch (error) {
    if (!isRefusal(error, 'badVersion', 'noNode')) throw error
  }
}
