import { openClient } from '../connection/connect.ts'
import { defineCommand } from '../framework/command.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import { addressesOf, addressText } from '../ensemble/address.ts'
import { pause } from '../output/live.ts'
import { Quantiles } from '../output/quantiles.ts'

export const command = defineCommand({
  options: {
    duration: { type: 'duration', help: 'how long to measure (5s)' },
    interval: { type: 'duration', help: 'time between two requests to a server (10ms)' },
    sync: { type: 'flag', help: 'measure sync, which asks the leader, instead of a local read' },
  },
  details: `Connects to every server of the connection string, sends small requests repeatedly, and shows the response times in
ms. It writes nothing. Exit code 1 means that a server does not answer.`,
  examples: [
    ['zabra latency', 'response times of local reads'],
    ['zabra latency --sync --duration 30s', 'response times of the leader through each server'],
  ],
  async run({ options, out, settings, signal }) {
    const { duration = 5000, interval = 10 } = options
    const connection = settings()
    const progress = out.progress('measuring')
    const results = await Promise.all(
      addressesOf(connection.servers).map(async (server) => {
        const name = addressText(server)
        const times = new Quantiles()
        try {
          const client = await openClient({ ...connection, servers: name }, { signal })
          try {
            const end = performance.now() + duration
            while (performance.now() < end && !signal.aborted) {
              const begun = performance.now()
              await (options.sync === true ? client.sync('/') : client.exists('/'))
              times.add(performance.now() - begun)
              progress.add()
              await pause(interval, signal)
            }
          } finally {
            await client.close()
          }
          return { server: name, count: times.count, ms: times.summary() }
        } catch (error) {
          signal.throwIfAborted()
          return { server: name, problem: (error as Error).message }
        }
      }),
    )
    progress.end()
    if (out.json) await out.data({ servers: results })
    else
      out.table(
        ['SERVER', 'REQUESTS', 'MIN(ms)', 'MEAN(ms)', 'P50(ms)', 'P90(ms)', 'P99(ms)', 'MAX(ms)'],
        results.map(({ server, count, ms, problem }) => {
          const times = [ms?.min, ms?.mean, ms?.p50, ms?.p90, ms?.p99, ms?.max]
          return [
            server,
            count,
            ...times,
            ...(problem === undefined ? [] : [out.style.red(problem)]),
          ]
        }),
      )
    return results.some(({ problem }) => problem !== undefined) ? exitCodes.no : exitCodes.ok
  },
})
