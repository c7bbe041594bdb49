import { defineCommand } from '../../framework/command.ts'
import { findLogs } from '../../offline/files.ts'
import { describeEnd } from '../../offline/log-ends.ts'
import { timeOf } from '../../offline/show-transaction.ts'
import { transactionsOf, type LogFileEnd } from '../../offline/transactions.ts'
import { hex } from '../../node/stat.ts'

interface Row {
  readonly file: string
  readonly records: number
  readonly first: bigint | undefined
  readonly last: bigint | undefined
  readonly fromMs: number
  readonly toMs: number
  readonly end: LogFileEnd
}

export const command = defineCommand({
  arguments: { path: { kind: 'file', help: 'a log, or a data directory of zabra or Apache' } },
  offline: true,
  examples: [['zabra log ls /var/lib/zookeeper', 'the logs of a data directory']],
  async run({ args, out, signal }) {
    const found = await findLogs(args.path)
    const rows: Row[] = []
    const progress = out.progress('reading')
    for (const file of found.files) {
      let end: LogFileEnd | undefined
      let [records, fromMs, toMs] = [0, 0, 0]
      let first: bigint | undefined
      let last: bigint | undefined
      const one = { directory: found.directory, files: [file] }
      for await (const txn of transactionsOf(one, signal, (ended) => (end = ended))) {
        if (records++ === 0) fromMs = txn.timeMs
        first ??= txn.zxid
        last = txn.zxid
        toMs = txn.timeMs
        progress.add()
      }
      rows.push({ file: file.name, records, first, last, fromMs, toMs, end: end! })
    }
    progress.end()
    const at = (row: Row, ms: number): string | undefined =>
      row.records === 0 ? undefined : timeOf(ms)
    if (out.json)
      return out.data(
        rows.map((row) => ({
          file: row.file,
          bytes: row.end.bytes,
          records: row.records,
          firstZxid: row.first === undefined ? null : hex(row.first),
          lastZxid: row.last === undefined ? null : hex(row.last),
          from: at(row, row.fromMs) ?? null,
          to: at(row, row.toMs) ?? null,
          end: row.end.end.reason,
        })),
      )
    out.table(
      ['FILE', 'RECORDS', 'FIRST', 'LAST', 'FROM', 'TO', 'BYTES', 'END'],
      rows.map((row) => [
        row.file,
        row.records,
        row.first && hex(row.first),
        row.last && hex(row.last),
        at(row, row.fromMs),
        at(row, row.toMs),
        row.end.bytes,
        describeEnd(row.end).text,
      ]),
    )
  },
})
