import { isRefusal, json, text, type Client } from '@zabra/client'
import { onAbort } from './limits.ts'
import { persist, type NodeState } from './node.ts'
import { join } from './parents.ts'
import { openTreeCache, type TreeCache } from './tree-cache.ts'

export type Decision = 'commit' | 'abort'

/**
 * Who counts the votes. `everyone`: each site watches all others and sees by itself what is
 * decided. `coordinator`: one counts and writes down the outcome, which is all that the sites
 * watch; if it goes, one of the sites takes its place.
 */
export type CommitForm = 'everyone' | 'coordinator'

/**
 * What is written in the node of a site, in this order: nothing, `joined`, its vote, and that it
 * has carried out what was decided.
 */
export type SiteState = '' | 'joined' | Decision | 'committed' | 'aborted'

/** What is written in the node of the transaction itself. */
export interface Header {
  readonly form: CommitForm
  readonly creator: string
  /** How many sites there are. */
  readonly sites: number
}

export const headers = json<Header>()

/** Where the parts of a transaction lie. */
export function layout(path: string) {
  return {
    proposal: join(path, 'proposal'),
    sites: join(path, 'sites'),
    alives: join(path, 'alive'),
    site: (name: string) => join(path, `sites/${name}`),
    alive: (name: string) => join(path, `alive/${name}`),
    coordinator: join(path, 'coordinator'),
    outcome: join(path, 'outcome'),
  }
}

export const stateOf = ({ data }: NodeState): SiteState => text.decode(data) as SiteState

export function voteIn(state: SiteState): Decision | undefined {
  if (state === 'commit' || state === 'committed') return 'commit'
  return state === 'abort' || state === 'aborted' ? 'abort' : undefined
}

/** What follows from the votes. A transaction that is not there any more was aborted. */
export function judge(cache: TreeCache): Decision | undefined {
  const header = cache.get(cache.path)
  if (header === undefined) return 'abort'
  const { sites } = layout(cache.path)
  const states = cache.children(sites).map((name) => stateOf(cache.get(join(sites, name))!))
  if (states.includes('committed')) return 'commit'
  const votes = states.map(voteIn)
  if (votes.includes('abort')) return 'abort'
  const isWhole = votes.length === headers.decode(header.data).sites
  return isWhole && votes.every((vote) => vote === 'commit') ? 'commit' : undefined
}

/**
 * Follows the votes until they decide. For a site that joined and has gone without a vote, `abort`
 * is written in its place; after a time, if there is one, also for those who never came.
 */
export async function decide(
  client: Client,
  path: string,
  signal: AbortSignal,
  abortAfterMs: number | undefined,
): Promise<Decision> {
  await using cache = await openTreeCache(client, path, { signal })
  const stop: (() => void)[] = []
  try {
    return await new Promise<Decision>((resolve, reject) => {
      let isLate = false
      const look = (): void => {
        const decision = judge(cache)
        if (decision !== undefined) resolve(decision)
        else replaceMissing(client, cache, isLate, signal).catch(reject)
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
 * Writes the next state of a site, unless it has another one by now. A second time does no harm,
 * for what is written then is refused.
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
