import { Election } from '@zabra/recipes'
import { defineCommand } from '../framework/command.ts'
import { UsageError } from '../framework/errors.ts'
import { hex } from '../node/stat.ts'
import { defaultId, holdingOptions } from '../holding/options.ts'
import { checkGrace, codeOf, defaultGraceMs, runHolding } from '../holding/run-holding.ts'
import { take } from '../holding/take.ts'
import { cleanPath } from '../node/paths.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'path', help: 'of the election; created if missing' } },
  options: {
    ...holdingOptions,
    again: { type: 'flag', help: 'run for election again after losing the leadership' },
    show: { type: 'flag', help: 'only show the leader and the candidates' },
  },
  program: 'optional',
  details: `Waits until elected, then runs the program; the leadership ends with it. The layout is Curator's LeaderLatch.
ZABRA_ELECT_TOKEN, the epoch of the term, grows from one leader to the next. When the session is about to expire,
the program gets SIGTERM, and SIGKILL before another client can lead. Exits with the exit code of the program.`,
  examples: [
    [
      'zabra elect /leader/scheduler -- ./scheduler',
      'one scheduler runs; the others wait to take over',
    ],
    [
      'zabra elect /leader/scheduler --again -- ./scheduler',
      'runs for election again after a loss',
    ],
    ['zabra elect /leader/scheduler --show', 'the leader and the candidates'],
  ],
  async run(invocation) {
    const { args, options, program, signal, io, out, connect } = invocation
    const path = cleanPath(args.path)
    const what = `the leadership of ${path}`
    if (options.show === true) {
      const client = await connect()
      const candidates = await new Election(client, path).candidates({ signal })
      const shown = candidates.map(({ id, epoch, path: node }) => ({ id, epoch: hex(epoch), node }))
      if (out.json) return out.data({ path, leader: shown[0] ?? null, candidates: shown.slice(1) })
      if (shown.length === 0) return out.note(`${path} has no candidates`)
      return out.table(
        ['', 'ID', 'EPOCH', 'NODE'],
        shown.map(({ id, epoch, node }, index) => [index === 0 ? 'leader' : '', id, epoch, node]),
      )
    }
    if (program.length === 0) throw new UsageError('a program is missing', 'after --, or --show')
    const { grace: graceMs = defaultGraceMs } = options
    const client = await connect({ isLasting: true })
    checkGrace(graceMs, client)
    const own = { id: options.id ?? defaultId(io.env), lostOn: 'expired' } as const
    const election = new Election(client, path, own)
    for (;;) {
      const term = await take(
        what,
        options.wait,
        () => election.campaign({ timeoutMs: 1000, signal }).catch(() => undefined),
        (limit) => election.campaign({ ...limit, signal }),
      )
      try {
        const env = { ZABRA_ELECT_PATH: path, ZABRA_ELECT_TOKEN: String(term.epoch) }
        const ending = await runHolding(invocation, { what, held: term, client, env, graceMs })
        if (!('lost' in ending) || options.again !== true || signal.aborted)
          return codeOf(ending, what)
        out.warn(`${what} was lost; standing for election again`)
      } finally {
        await term.release().catch(() => {})
      }
    }
  },
})
