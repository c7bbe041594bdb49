import { defineCommand } from '../../framework/command.ts'
import { exitCodes } from '../../framework/exit-codes.ts'
import { findLogs } from '../../offline/files.ts'
import { filterOf, filterOptions } from '../../offline/filters.ts'
import { showTransaction } from '../../offline/show-transaction.ts'
import { transactionsOf } from '../../offline/transactions.ts'

export const command = defineCommand({
  arguments: { file: { kind: 'file', help: 'a log, or a data directory of zabra or Apache' } },
  options: { ...filterOptions, data: { type: 'flag', help: 'include the data of nodes' } },
  offline: true,
  details: 'Prints the transactions that match all options. Exit code 1 means that there are none.',
  examples: [
    ['zabra log grep /var/lib/zookeeper --path /config', 'what happened to /config'],
    ['zabra log grep data --session 0x1000a --operation create', 'nodes created by a session'],
    ['zabra log grep data --from 2026-01-31T08:00 --to 2026-01-31T09:00', 'an hour'],
  ],
  async run({ args, options, out, signal }) {
    const isWanted = filterOf(options)
    let count = 0
    const progress = out.progress('reading')
    for await (const txn of transactionsOf(await findLogs(args.file), signal)) {
      progress.add()
      if (!isWanted(txn)) continue
      count++
      await out.drained()
      showTransaction(txn, out, options.data === true)
    }
    progress.end()
    return count === 0 ? exitCodes.no : exitCodes.ok
  },
})
