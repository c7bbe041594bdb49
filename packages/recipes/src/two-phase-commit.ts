import {
  ConnectionLossError,
  isRefusal,
  parentPath,
  text,
  type CallOptions,
  type Client,
  type Codec,
} from '@zabra/client'
import { checkPath, makeGuid, pause } from '@zabra/client/internal'
import {
  checkDecision,
  decide,
  headers,
  layout,
  lookForDecision,
  mustRead,
  stateOf,
  voteIn,
  writeState,
  type CommitForm,
  type Decision,
} from './commit-votes.ts'
import { untilGone, untilThere } from './waiting/until-changed.ts'
import { firstOf } from './waiting/first-of.ts'
import { hold, type Held } from './holding/held.ts'
import { deleteOwn } from './nodes/give-back.ts'
import { limited, orAborted } from './waiting/limits.ts'
import { findOut, persist, readNode } from './nodes/node.ts'
import { below, checkName } from './nodes/parents.ts'
import { TreeCache } from './tree-cache.ts'
import { codecOption } from './nodes/recipe-options.ts'

export interface TwoPhaseCommitOptions<T> {
  /** Of the proposal. */
  readonly codec: Codec<T>
}

export interface ProposeOptions extends CallOptions {
  /** The names of those whose agreement is needed. */
  readonly sites: readonly string[]
  /** `everyone` by default. */
  readonly form?: CommitForm | undefined
}

export interface DecisionOptions extends CallOptions {
  /** After this time `abort` is written for every site that has not voted. Never, by default. */
  readonly abortAfterMs?: number | undefined
}

/**
 * A transaction that several sites carry out together, or none of them.
 *
 *     const transfer = new TwoPhaseCommit(client, '/transfers/17', { codec: json<Transfer>() })
 *     // One program proposes it:
 *     const commit = await transfer.propose({ amount: 50 }, { sites: ['paris', 'oslo'] })
 *     // Each site takes part:
 *     await using site = await transfer.join('paris')
 *     await site.vote(canCarryOut(site.proposal) ? 'commit' : 'abort')
 *     const decision = await site.decision()
 */
export class TwoPhaseCommit<T> {
  readonly path: string
  private readonly client: Client
  private readonly codec: Codec<T>

  constructor(client: Client, path: string, options: TwoPhaseCommitOptions<T>) {
    this.client = client.patient
    this.path = checkPath(path)
    this.codec = codecOption('TwoPhaseCommit', options)
  }

  /**
   * Proposes the transaction to its sites: all its nodes are created together, or none.
   *
   *     const proposed = await transfers.propose({ amount: 50 }, { sites: ['paris', 'oslo'] })
   */
  async propose(proposal: T, options: ProposeOptions): Promise<CommitProposal> {
    const { client, path, codec } = this
    const { sites, form = 'everyone', ...limits } = options
    if (sites.length === 0) throw new TypeError('a transaction needs at least one site')
    sites.forEach((site, i) => {
      checkName(site, 'a site')
      if (sites.indexOf(site) !== i) throw new TypeError(`the site '${site}' is named twice`)
    })
    const creator = makeGuid(() => client.host.random())
    const at = layout(path)
    const create = async (either: AbortSignal): Promise<void> => {
      const tx = client
        .transaction()
        .create(path, { form, creator, sites: sites.length }, { codec: headers })
        .create(at.proposal, codec.encode(proposal))
        .create(at.sites)
        .create(at.alives)
      for (const site of sites) tx.create(at.site(site))
      if (form === 'coordinator') tx.create(at.coordinator, '', { ephemeral: true })
      await tx.commit({ signal: either })
    }
    const makeOnce = async (either: AbortSignal): Promise<void> => {
      const parent = parentPath(path)
      await persist(client, either, async () => {
        try {
          await below(client, parent, { signal: either }, () => create(either))
        } catch (error) {
          // It may be ours, by a request whose reply was lost.
          if (!isRefusal(error, 'nodeExists') || error.path !== path) throw error
          const { data } = await client.get(path, { signal: either })
          if (headers.decode(data).creator !== creator) throw error
        }
      })
    }
    try {
      await limited(client, limits, makeOnce, true)
    } catch (error) {
      // It may exist all the same. Then its sites must not wait for a coordinator that has given up.
      if (form === 'coordinator' && !isRefusal(error))
        stepDown(client, at.coordinator).catch(() => {})
      throw error
    }
    return new CommitProposal(client, path, form)
  }

  /**
   * Continues as the proposer of a transaction that was proposed before.
   *
   *     const proposed = await transfers.resume()
   *     console.log(await proposed.decision({ timeoutMs: 60_000 }))
   */
  resume(options: CallOptions = {}): Promise<CommitProposal> {
    const { client, path } = this
    return limited(client, options, async (signal) => {
      const { data } = await mustRead(client, path, signal)
      return new CommitProposal(client, path, headers.decode(data).form)
    })
  }

  /**
   * Takes part as one of the sites, or continues where an earlier process of that site ended.
   *
   *     await using site = await transfers.join('paris')
   *     console.log(site.proposal.amount)
   */
  async join(site: string, options: CallOptions = {}): Promise<CommitSite<T>> {
    checkName(site, 'a site')
    const { client, path, codec } = this
    return limited(client, options, async (signal) => {
      const at = layout(path)
      await persist(client, signal, () => client.sync(path, { signal }))
      const header = await mustRead(client, path, signal)
      const { data } = await mustRead(client, at.proposal, signal)
      const proposal = codec.decode(data)
      const own = await mustRead(client, at.site(site), signal)
      const { form } = headers.decode(header.data)
      if (voteIn(stateOf(own)) !== undefined)
        return new CommitSite(client, path, form, site, proposal, undefined)
      const alive = await announce(client, at.alive(site), signal)
      try {
        // Only now: a site that has joined and is not alive has failed.
        if (stateOf(own) === '') await writeState(client, at.site(site), 'joined', own, signal)
      } catch (error) {
        alive.release().catch(() => {})
        throw error
      }
      return new CommitSite(client, path, form, site, proposal, alive)
    })
  }
}

/** A transaction as its proposer sees it. */
export class CommitProposal {
  readonly path: string
  readonly form: CommitForm
  private readonly client: Client

  constructor(client: Client, path: string, form: CommitForm) {
    this.client = client.patient
    this.path = path
    this.form = form
  }

  /**
   * Waits until it is decided. With a coordinator, this is what coordinates.
   *
   *     console.log(await proposed.decision({ abortAfterMs: 60_000 })) // commit or abort
   */
  decision(options: DecisionOptions = {}): Promise<Decision> {
    return awaitDecision(this.client, this.path, this.form, options)
  }

  /**
   * Deletes all of it: after a commit when every site has carried it out, because until then each
   * may come and ask; after an abort at once, because a missing transaction was aborted.
   *
   *     await proposed.forget()
   */
  forget(options: CallOptions = {}): Promise<void> {
    const remove = async (signal: AbortSignal): Promise<void> => {
      await using cache = await TreeCache.open(this.client, this.path, { signal })
      const { sites, site } = layout(this.path)
      const mayGo = (): boolean => {
        const states = cache.children(sites).map((name) => stateOf(cache.get(site(name))!))
        const isAborted = states.some((state) => voteIn(state) === 'abort')
        return isAborted || states.every((state) => state === 'committed')
      }
      const changes = cache.changes({ signal })
      while (!mayGo()) await changes.next()
      while (!(await this.deleteAtOnce(cache, signal))) await cache.sync({ signal })
    }
    return limited(this.client, options, remove, true)
  }

  /** In one step: a part of the votes would mean something else. */
  private async deleteAtOnce(cache: TreeCache, signal: AbortSignal): Promise<boolean> {
    const transaction = this.client.transaction()
    const paths = [...cache].map(({ path }) => path)
    if (paths.length === 0) return true
    for (const path of paths.toReversed()) transaction.delete(path)
    try {
      await transaction.commit({ signal })
      return true
    } catch (error) {
      // Somebody came or went: read again.
      const isTemporary = isRefusal(error, 'noNode', 'notEmpty')
      if (!isTemporary && !(error instanceof ConnectionLossError)) throw error
      return false
    }
  }
}

/** A transaction as one of its sites sees it. */
export class CommitSite<T> implements AsyncDisposable {
  readonly path: string
  readonly name: string
  readonly form: CommitForm
  readonly proposal: T
  private readonly client: Client
  private readonly alive: Held | undefined

  constructor(
    client: Client,
    path: string,
    form: CommitForm,
    name: string,
    proposal: T,
    alive: Held | undefined,
  ) {
    this.client = client.patient
    this.path = path
    this.form = form
    this.name = name
    this.proposal = proposal
    this.alive = alive
  }

  /**
   * Votes, once and for all. Resolves to the vote that counts, which is `abort` if this site was
   * given up before. A site that votes `commit` must be able to carry it out, whatever happens.
   *
   *     await site.vote(canCarryOut(site.proposal) ? 'commit' : 'abort')
   */
  async vote(vote: Decision, options: CallOptions = {}): Promise<Decision> {
    checkDecision(vote)
    const cast = async (signal: AbortSignal): Promise<Decision> => {
      const at = layout(this.path).site(this.name)
      for (;;) {
        const own = await readNode(this.client, at, signal, 'session')
        const counted = own === undefined ? 'abort' : voteIn(stateOf(own))
        if (own === undefined || counted !== undefined) {
          // From here on the vote counts even without the site.
          if (this.alive !== undefined) await orAborted(this.alive.release(), signal)
          return counted ?? 'abort'
        }
        await writeState(this.client, at, vote, own, signal)
      }
    }
    return limited(this.client, options, cast, true)
  }

  /**
   * Waits until it is decided. Replaces a coordinator that fails.
   *
   *     if ((await site.decision()) === 'commit') await work(site.proposal)
   */
  decision(options: DecisionOptions = {}): Promise<Decision> {
    return awaitDecision(this.client, this.path, this.form, options)
  }

  /**
   * Records that this site has carried out the decision; rejects if the decision is another one.
   *
   *     await site.acknowledge(await site.decision())
   */
  async acknowledge(decision: Decision, options: CallOptions = {}): Promise<void> {
    checkDecision(decision)
    const done = decision === 'commit' ? 'committed' : 'aborted'
    const write = async (signal: AbortSignal): Promise<void> => {
      const at = layout(this.path).site(this.name)
      for (;;) {
        const decided = await lookForDecision(this.client, this.path, signal)
        const own = await readNode(this.client, at, signal, 'session')
        if (own === undefined || stateOf(own) === done) return
        if (decided !== decision) throw this.misunderstood(decision, decided)
        await writeState(this.client, at, done, own, signal)
      }
    }
    return limited(this.client, options, write, true)
  }

  private misunderstood(decision: Decision, decided: Decision | undefined): TypeError {
    const truth = decided === undefined ? 'nothing is decided yet' : `the decision is '${decided}'`
    return new TypeError(`'${decision}' of ${this.path} cannot be acknowledged: ${truth}`)
  }

  /**
   * Leaves. Without a vote that counts as a failure, and `abort` is written for this site.
   *
   *     await site.close() // or: await using site = await transfers.join('paris')
   */
  async close(): Promise<void> {
    await this.alive?.release()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function awaitDecision(
  client: Client,
  path: string,
  form: CommitForm,
  { abortAfterMs, ...options }: DecisionOptions,
): Promise<Decision> {
  const decision = limited(client, options, (signal) =>
    form === 'everyone'
      ? decide(client, path, signal, abortAfterMs)
      : awaitOutcome(client, path, signal, abortAfterMs),
  )
  // A coordinator that gives up, even before it has begun, must not leave its place taken.
  if (form === 'coordinator')
    decision.catch(() => stepDown(client, layout(path).coordinator).catch(() => {}))
  return decision
}

/** The written outcome; this client writes it if nobody else is there to do it. */
async function awaitOutcome(
  client: Client,
  path: string,
  signal: AbortSignal,
  abortAfterMs: number | undefined,
): Promise<Decision> {
  const { outcome, coordinator } = layout(path)
  const lateAt = abortAfterMs === undefined ? undefined : client.nowMs() + abortAfterMs
  const leftMs = (): number | undefined =>
    lateAt === undefined ? undefined : Math.max(0, lateAt - client.nowMs())
  for (;;) {
    const written = await readNode(client, outcome, signal)
    if (written !== undefined) return text.decode(written.data) as Decision
    const [header, node] = await Promise.all([
      readNode(client, path, signal, 'linearizable'),
      readNode(client, coordinator, signal, 'linearizable'),
    ])
    if (header === undefined) return 'abort'
    const session = client.session?.id
    if (node !== undefined && node.stat.ephemeralOwner === session) {
      try {
        return await coordinate(client, path, signal, leftMs())
      } finally {
        // It is decided, or somebody else may do it now. A decision is known without this.
        deleteOwn(client, coordinator, session).catch(() => {})
      }
    }
    const place = node === undefined && (await becomeCoordinator(client, coordinator, signal))
    if (place) {
      try {
        return await coordinate(client, path, signal, leftMs())
      } finally {
        place.release().catch(() => {})
      }
    }
    // The site that has the place may not know of such a limit.
    if (leftMs() === 0) return coordinate(client, path, signal, 0)
    await persist(client, signal, () =>
      firstOf(signal, (either) => [
        untilThere(client, outcome, either),
        untilGone(client, coordinator, either),
        ...(lateAt === undefined ? [] : [pause(client.host, leftMs()!, either)]),
      ]),
    )
  }
}

async function becomeCoordinator(
  client: Client,
  path: string,
  signal: AbortSignal,
): Promise<Held | undefined> {
  try {
    return await makeOwn(client, path, signal)
  } catch (error) {
    // The outcome of the transaction is seen by reading again.
    if (isRefusal(error, 'noNode')) return undefined
    throw error
  }
}

/** Deletes the node of a coordinator, if it belongs to this session. */
async function stepDown(client: Client, path: string): Promise<void> {
  const look = () => client.exists(path, { consistency: 'session' })
  const stat = await findOut(client, undefined, look)
  const session = client.session?.id
  if (stat !== undefined && stat.ephemeralOwner === session) await deleteOwn(client, path, session)
}

/** Two at a time do no harm: both derive the same decision from the votes. */
async function coordinate(
  client: Client,
  path: string,
  signal: AbortSignal,
  abortAfterMs: number | undefined,
): Promise<Decision> {
  const decision = await decide(client, path, signal, abortAfterMs)
  await persist(client, signal, async () => {
    try {
      await client.create(layout(path).outcome, decision, { signal })
    } catch (error) {
      if (!isRefusal(error, 'nodeExists', 'noNode')) throw error
    }
  })
  return decision
}

/**
 * Shows that this site is alive, as long as its session lasts. Waits while an earlier process of it
 * still seems to be.
 */
async function announce(client: Client, path: string, signal: AbortSignal): Promise<Held> {
  for (;;) {
    const alive = await makeOwn(client, path, signal)
    if (alive !== undefined) return alive
    await persist(client, signal, () => untilGone(client, path, signal))
  }
}

/** Undefined if another session has the node, or if it was deleted in this moment. */
async function makeOwn(
  client: Client,
  path: string,
  signal: AbortSignal,
): Promise<Held | undefined> {
  signal.throwIfAborted()
  const made = makeOrFind(client, path)
  try {
    return await orAborted(made, signal)
  } catch (error) {
    // No caller is left: a node that still appears is deleted.
    made.then((own) => own?.release()).catch(() => {})
    throw error
  }
}

async function makeOrFind(client: Client, path: string): Promise<Held | undefined> {
  try {
    const created = await client.create(path, '', { ephemeral: true })
    return hold(client, created, { lostOn: 'expired' })
  } catch (error) {
    const isTold = isRefusal(error, 'nodeExists')
    if (!isTold && !(error instanceof ConnectionLossError)) throw error
  }
  const look = () => client.exists(path, { consistency: 'session' })
  const stat = await findOut(client, undefined, look)
  if (stat === undefined || stat.ephemeralOwner !== client.session?.id) return undefined
  return hold(client, { path, stat }, { lostOn: 'expired' })
}
