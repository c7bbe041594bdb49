import { defineCommand } from '../framework/command.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { adminBases, askApi } from '../ensemble/admin.ts'

interface SeenEnd {
  readonly id: string
  readonly time: string
  readonly zxid: string
  readonly verdict: string
  readonly seen: readonly string[]
  readonly unknown: readonly string[]
  readonly isDecidedHere: boolean
}

export const command = defineCommand({
  arguments: {
    session: { kind: 'text', optional: true, help: 'the session, in hexadecimal; all without it' },
  },
  options: {
    admin: {
      type: 'text',
      value: 'URL',
      many: true,
      help: 'admin port of a server; repeat it for more (default: asked of each server)',
    },
    closed: { type: 'flag', help: 'sessions that were closed on request, too' },
    limit: { type: 'integer', min: 1, short: 'n', help: 'show at most this many sessions (20)' },
  },
  details: `Shows why sessions expired, as the servers saw it: the server of the client knows its connections, the leader when it was
heard of last. Servers keep the last 1000 in memory, until they are stopped. It needs zabra servers. Exit code 1: nothing is known.`,
  examples: [
    ['zabra why 0x1000a3f2c0001', 'why this session expired'],
    ['zabra why --admin http://10.0.0.1:8080 --admin http://10.0.0.2:8080', 'the last ones'],
  ],
  async run({ args, options, out, settings, signal }) {
    const connection = settings()
    const { limit = 20 } = options
    const parameters = new URLSearchParams({ limit: String(limit) })
    if (args.session !== undefined) parameters.set('id', `0x${args.session.replace(/^0x/i, '')}`)
    if (options.closed === true) parameters.set('closed', 'true')
    const bySession = new Map<string, { server: string; end: SeenEnd }[]>()
    let problem: Error | undefined
    let answers = 0
    for (const base of await adminBases(connection, options.admin, signal)) {
      try {
        const { sessions } = await askApi<{ sessions: readonly SeenEnd[] }>({
          base,
          path: `/api/v1/sessions/expired?${parameters.toString()}`,
          settings: connection,
          signal,
        })
        answers++
        for (const end of sessions) {
          const known = bySession.get(end.id)
          if (known === undefined) bySession.set(end.id, [{ server: base, end }])
          else known.push({ server: base, end })
        }
      } catch (error) {
        signal.throwIfAborted()
        problem = error as Error
        out.warn(problem.message)
      }
    }
    if (answers === 0 && problem !== undefined) throw problem
    const found = [...bySession.values()]
      .toSorted(([a], [b]) => (a!.end.time < b!.end.time ? 1 : -1))
      .slice(0, limit)
    if (out.json) {
      await out.data(
        found.map((reports) => ({
          session: reports[0]!.end.id,
          reports: reports.map(({ server, end }) => ({ server, ...end })),
        })),
      )
    } else {
      for (const reports of found) {
        const [{ end }] = reports as [(typeof reports)[0]]
        out.line(`${out.style.bold(end.id)} ended ${end.time} at ${end.zxid}`)
        for (const each of reports) {
          const part = each.end.isDecidedHere ? ', which decided' : ''
          out.line(`  ${each.server}${part}: ${each.end.verdict}`)
          for (const sentence of each.end.seen) out.line(`    ${sentence}`)
          if (reports.length > 1) continue
          for (const unknown of each.end.unknown) out.line(`    Not known here: ${unknown}`)
        }
      }
    }
    if (found.length === 0)
      out.note('no expired session is known; servers forget them when they stop')
    return found.length === 0 ? exitCodes.no : exitCodes.ok
  },
})
