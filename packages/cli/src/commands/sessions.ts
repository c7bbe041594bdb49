import { defineCommand } from '../framework/command.ts'
import { askOptions } from '../ensemble/ask-options.ts'
import { CommandError } from '../framework/errors.ts'
import { ConnectionLists, type ClientConnection } from '../ensemble/connections.ts'
import { namedMembers, readMembers } from '../ensemble/members.ts'
import { lasting } from '../output/ago.ts'
import { roundMs } from '../output/table.ts'

export const command = defineCommand({
  options: {
    sort: {
      type: 'text',
      choices: ['requests', 'latency', 'age', 'server'],
      help: 'sort by this, largest first (requests)',
    },
    limit: { type: 'integer', min: 1, short: 'n', help: 'show only this many' },
  },
  details: `Lists the sessions connected to any member: address, duration, number of requests, last operation and latency. Asks
each member by the word cons or, if that is not on its whitelist, by the HTTP API of zabra, which may need the
identity of an administrator. Names the members that do not answer.`,
  examples: [
    ['zabra sessions', 'every connected session'],
    ['zabra sessions --sort latency -n 10', 'the ten with the slowest answers'],
  ],
  async run({ options, out, settings, signal }) {
    const connection = settings()
    const progress = out.progress('asking the servers')
    const members = await readMembers(connection, signal).then(
      (found) => found.members,
      () => namedMembers(connection),
    )
    const asking = await askOptions(connection, signal)
    const problems: Error[] = []
    let answers = 0
    const lists = new ConnectionLists(connection, asking, signal)
    const found = await Promise.all(
      members.map(async ({ client }) => {
        if (client === undefined) return []
        try {
          const list = await lists.of(client)
          answers++
          return list
        } catch (error) {
          signal.throwIfAborted()
          problems.push(error as Error)
          return []
        }
      }),
    )
    progress.end()
    if (answers === 0 && problems[0] !== undefined) throw problems[0]
    for (const problem of problems) {
      // Other servers answered, so these are the right ones.
      const advice =
        problem instanceof CommandError && problem.code !== 'unreachable' ? problem.hint : undefined
      out.warn(`${problem.message}${advice === undefined ? '' : ` (${advice})`}`)
    }
    const now = Date.now()
    const sessions = found
      .flat()
      .filter(({ session }) => session !== undefined)
      .toSorted(orders[options.sort ?? 'requests'])
      .slice(0, options.limit ?? Infinity)
    if (out.json)
      return out.data(
        sessions.map(({ connectedAt, ...rest }) => ({
          ...rest,
          connectedAt: connectedAt?.toISOString() ?? null,
        })),
      )
    if (sessions.length === 0) {
      out.note('no session is connected')
      return
    }
    out.table(
      [
        'SESSION',
        'CLIENT',
        'SERVER',
        'AGE',
        'TIMEOUT(ms)',
        'REQUESTS',
        'QUEUED',
        'LAST',
        'LATENCY(ms)',
        'MAX(ms)',
      ],
      sessions.map((each) => [
        each.session,
        each.client,
        each.server,
        each.connectedAt && lasting(now - each.connectedAt.getTime()),
        each.timeoutMs,
        each.received,
        each.queued,
        each.lastOperation,
        roundMs(each.latencyMs?.average),
        each.latencyMs?.max,
      ]),
    )
  },
})

const orders: Readonly<Record<string, (a: ClientConnection, b: ClientConnection) => number>> = {
  requests: (a, b) => b.received - a.received,
  latency: (a, b) => (b.latencyMs?.average ?? 0) - (a.latencyMs?.average ?? 0),
  age: (a, b) => (a.connectedAt?.getTime() ?? 0) - (b.connectedAt?.getTime() ?? 0),
  server: (a, b) => a.server.localeCompare(b.server),
}
