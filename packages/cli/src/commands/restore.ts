import { defineCommand } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import type { Invocation } from '../framework/invocation.ts'
import { hex } from '../node/stat.ts'
import { cleanPath, isWithin } from '../node/paths.ts'
import { counted } from '../output/units.ts'
import type { State } from '../backup/state.ts'

export const command = defineCommand({
  arguments: { directory: { kind: 'file', help: 'directory of backups' } },
  options: {
    to: {
      type: 'text',
      value: 'ZXID|TIME',
      help: 'restore the state after this zxid (0x...) or at this time (ISO 8601); default: the newest',
    },
    path: {
      type: 'text',
      value: 'PATH',
      kind: 'path',
      help: 'restore only this node and its subtree',
    },
    dataDir: {
      type: 'text',
      value: 'DIR',
      kind: 'file',
      help: 'write the data directory of a new server instead of changing a running ensemble',
    },
    keepExtra: { type: 'flag', help: 'keep nodes that did not exist then' },
    dryRun: { type: 'flag', short: 'n', help: 'show what would change, and change nothing' },
    data: { type: 'flag', help: 'with --dry-run: show the data that would change' },
    yes: { type: 'flag', short: 'y', help: 'do not ask' },
  },
  details: `In a running ensemble: compares the past state with the present one and changes only the differences, in
transactions, and only nodes that nobody changes at the same time. It restores data, ACLs, containers, TTLs and the counters
of sequential children. Versions and times are those of new changes. It does not compare containers and TTLs of existing
nodes, because servers do not tell them to clients. It leaves alone ephemeral nodes, nodes above the ephemeral nodes of live
sessions, and /zookeeper with the quotas.

With --data-dir: writes the complete state, with sessions, versions and times, into an empty directory. Start a new server
on it; for a new ensemble, write one for every member. New transactions get higher zxids than any in the backups.`,
  examples: [
    ['zabra restore /backups/zk --to 2026-01-31T08:00Z --path /app --dry-run', 'what would change'],
    [
      'zabra restore /backups/zk --to 0x100000a3f --path /app',
      'restore /app in a running ensemble',
    ],
    [
      'zabra restore /backups/zk --data-dir /var/lib/zookeeper-new',
      'write the data directory of a new server',
    ],
  ],
  async run(invocation) {
    const { args, options, out, signal } = invocation
    const path = cleanPath(options.path ?? '/')
    if (isWithin(path, '/zookeeper'))
      throw new UsageError('/zookeeper belongs to the servers and is not restored')
    if (options.dataDir !== undefined && path !== '/')
      throw new UsageError(
        '--path is for a running ensemble; --data-dir holds everything',
        'start a server on the directory, and copy from it with `zabra cp`',
      )
    if (options.data === true && options.dryRun !== true)
      throw new UsageError('--data goes with --dry-run')
    const { pointOf } = await import('../offline/filters.ts')
    const to = options.to === undefined ? undefined : pointOf('--to', options.to)
    const { stateAt } = await import('../backup/state.ts')
    if (options.dataDir !== undefined) {
      const { checkIsNew } = await import('../backup/restore-directory.ts')
      checkIsNew(options.dataDir)
    }
    const progress = out.progress('replaying')
    const state = await stateAt(args.directory, to, {
      signal,
      onTransactions: (count) => progress.add(count),
    })
    progress.end()
    return options.dataDir === undefined
      ? restoreLive(invocation as never, state, path)
      : restoreDirectory(invocation as never, state, options.dataDir)
  },
})

type RestoreInvocation = Omit<Invocation, 'options'> & {
  readonly options: {
    readonly dryRun?: true
    readonly data?: true
    readonly yes?: true
    readonly keepExtra?: true
  }
}

function describe({ zxid, time }: State): string {
  return `${hex(zxid)}${time === null ? '' : ` (${time})`}`
}

async function restoreDirectory(
  { options, out }: RestoreInvocation,
  state: State,
  dataDir: string,
): Promise<void> {
  const { db, zxid, time } = state
  const { size: nodes, digest } = db.tree
  const summary = {
    zxid: hex(zxid),
    time,
    dataDir,
    nodes,
    sessions: db.sessions.size,
    digest: hex(digest.value),
  }
  const what = `${counted(nodes, 'node')} as of ${describe(state)}`
  if (options.dryRun === true) {
    if (out.json) await out.data({ ...summary, next: null })
    else out.note(`would write ${what} to ${dataDir}`)
    return
  }
  const { writeDirectory } = await import('../backup/restore-directory.ts')
  const next = await writeDirectory(dataDir, state)
  if (out.json) await out.data({ ...summary, next: hex(next) })
  else out.note(`wrote ${what} to ${dataDir}; a server on it continues from ${hex(next)}`)
}

async function restoreLive(
  { options, out, signal, settings, connect, confirm }: RestoreInvocation,
  state: State,
  path: string,
): Promise<number | void> {
  if (settings().servers.includes('/'))
    throw new UsageError('connect without a chroot, and name the subtree with --path')
  const client = await connect()
  const { planRestore } = await import('../backup/restore-plan.ts')
  const reading = out.progress('reading')
  const plan = await planRestore(client, state, path, { signal, onNode: () => reading.add() })
  reading.end()
  const prune = options.keepExtra !== true
  const differences = plan.differences.filter(({ type }) => prune || type !== 'extra')
  const { differenceJson, showDifferences, sums, sumsText } = await import('../trees/show.ts')
  const counts = sums(differences)
  const head = { zxid: hex(state.zxid), time: state.time, path, ...counts }
  const changes = differences.map((one) => differenceJson(one, '/'))
  if (options.dryRun === true) {
    if (out.json) return out.data({ ...head, changes, isDone: false })
    showDifferences(out, differences, '/', options.data === true)
    return out.note(`${path} as of ${describe(state)}: ${sumsText(counts)}`)
  }
  if (differences.length === 0) {
    if (out.json) return out.data({ ...head, changes, isDone: true })
    return out.note(`${path} is as it was at ${describe(state)}`)
  }
  const question = `Make ${path} what it was at ${describe(state)} (${sumsText(counts)})?`
  if (options.yes !== true && !(await confirm(question, '--yes'))) {
    out.note('nothing was changed')
    return exitCodes.no
  }
  const { applyDifferences, raiseCounters } = await import('../trees/apply.ts')
  const applying = out.progress('restoring', differences.length)
  await applyDifferences(client, '/', differences, {
    signal,
    prune,
    onDone: (count) => applying.add(count),
  })
  applying.end()
  const made = differences.flatMap((one) => (one.type === 'missing' ? [one.wanted] : []))
  await raiseCounters(client, '/', made, { signal })
  if (out.json) return out.data({ ...head, changes, isDone: true })
  out.note(`${path} as of ${describe(state)}: ${sumsText(counts).replaceAll('to ', '')}`)
  if (plan.ephemerals > 0) out.note(`left out ${counted(plan.ephemerals, 'ephemeral node')}`)
}
