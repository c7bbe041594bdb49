import { defineCommand } from '../../framework/command.ts'
import { findLogs } from '../../offline/files.ts'
import { showTransaction } from '../../offline/show-transaction.ts'
import { transactionsOf } from '../../offline/transactions.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'file', help: 'a log, or a data directory of zabra or Apache' } },
  options: { data: { type: 'flag', help: 'include the data of nodes' } },
  offline: true,
  examples: [
    ['zabra log dump log.100000001', 'every transaction of a log'],
    ['zabra log dump /var/lib/zookeeper --data --json', 'all logs, with data, as JSON lines'],
  ],
  async run({ args, options, out, signal }) {
    for await (const txn of transactionsOf(await findLogs(args.path), signal)) {
      await out.drained()
      showTransaction(txn, out, options.data === true)
    }
  },
})
