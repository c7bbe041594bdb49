import { defineCommand } from '../../framework/command.ts'
import { hex } from '../../node/stat.ts'
import { findLogs } from '../../offline/files.ts'
import { filterOf, filterOptions } from '../../offline/filters.ts'
import { timeOf } from '../../offline/show-transaction.ts'
import { transactionsOf } from '../../offline/transactions.ts'
import { Tally } from '../../offline/tally.ts'

export const command = defineCommand({
  arguments: { file: { kind: 'file', help: 'a log, or a data directory of zabra or Apache' } },
  options: {
    ...filterOptions,
    depth: { type: 'integer', min: 1, help: 'count paths up to this depth (2)' },
    top: { type: 'integer', min: 1, help: 'how many paths and sessions to show (10)' },
  },
  offline: true,
  details: 'Shows number and size of writes by operation, by path and by session.',
  examples: [
    ['zabra log stats /var/lib/zookeeper', 'the busiest paths and sessions'],
    ['zabra log stats data --path /kafka --depth 4', 'the same in more detail'],
  ],
  async run({ args, options, out, signal }) {
    const { depth = 2, top = 10 } = options
    const isWanted = filterOf(options)
    const operations = new Tally()
    const paths = new Tally()
    const sessions = new Tally()
    let [transactions, bytes, fromMs, toMs] = [0, 0, Infinity, 0]
    const progress = out.progress('reading')
    for await (const txn of transactionsOf(await findLogs(args.file), signal)) {
      progress.add()
      if (!isWanted(txn)) continue
      transactions++
      bytes += txn.bytes
      fromMs = Math.min(fromMs, txn.timeMs)
      toMs = Math.max(toMs, txn.timeMs)
      sessions.add(hex(txn.session), txn.bytes)
      for (const { operation, path, data } of txn.changes) {
        operations.add(operation, data?.length ?? 0)
        if (path !== undefined) paths.add(upTo(path, depth), data?.length ?? 0)
      }
    }
    progress.end()
    const seconds = transactions === 0 ? 0 : Math.max(1, (toMs - fromMs) / 1000)
    const perSecond = seconds === 0 ? 0 : Math.round((transactions / seconds) * 10) / 10
    if (out.json)
      return out.data({
        transactions,
        bytes,
        from: transactions === 0 ? null : timeOf(fromMs),
        to: transactions === 0 ? null : timeOf(toMs),
        perSecond,
        operations: operations.most(Infinity),
        paths: paths.most(top),
        sessions: sessions.most(top),
      })
    out.line(`${transactions} transactions, ${bytes} bytes, ${perSecond} a second`)
    if (transactions === 0) return
    out.line(`${timeOf(fromMs)} to ${timeOf(toMs)}`)
    for (const [title, tally, count] of [
      ['OPERATION', operations, Infinity],
      ['PATH', paths, top],
      ['SESSION', sessions, top],
    ] as const) {
      out.line()
      const rows = tally.most(count).map((each) => [each.name, each.count, each.bytes])
      out.table([title, 'COUNT', 'BYTES'], rows)
    }
  },
})

function upTo(path: string, depth: number): string {
  const parts = path.split('/')
  return parts.length <= depth + 1 ? path : `${parts.slice(0, depth + 1).join('/')}/...`
}
