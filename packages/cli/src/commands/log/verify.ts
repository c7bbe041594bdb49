import { defineCommand } from '../../framework/command.ts'
import { exitCodes } from '../../framework/exit-codes.ts'
import { hex } from '../../node/stat.ts'
import { findLogs } from '../../offline/files.ts'
import { describeEnd } from '../../offline/log-ends.ts'
import { transactionsOf } from '../../offline/transactions.ts'

interface Problem {
  readonly file: string
  readonly message: string
}

export const command = defineCommand({
  arguments: { path: { kind: 'file', help: 'a log, or a data directory of zabra or Apache' } },
  offline: true,
  details: `Reads every record with its checksum, and checks that the logs follow each other without a gap. The newest log of a
killed server may end within a record: that write was never acknowledged unless a later one was. Exit code 1 means
that something is wrong.`,
  examples: [['zabra log verify /var/lib/zookeeper', 'checks all logs of a data directory']],
  async run({ args, out, signal }) {
    const found = await findLogs(args.path)
    const problems: Problem[] = []
    let records = 0
    let last: bigint | undefined
    let lastFile = ''
    const progress = out.progress('verifying')
    for await (const { zxid, file } of transactionsOf(found, signal, (ended) => {
      const { text, isSound } = describeEnd(ended)
      if (!isSound) problems.push({ file: ended.file, message: text })
    })) {
      records++
      progress.add()
      if (last !== undefined && file !== lastFile && isGap(last, zxid))
        problems.push({
          file,
          message: `begins at ${hex(zxid)}, but the log before ends at ${hex(last)}`,
        })
      last = zxid
      lastFile = file
    }
    progress.end()
    if (out.json)
      await out.data({ ok: problems.length === 0, files: found.files.length, records, problems })
    else {
      for (const { file, message } of problems)
        out.line(`${out.style.red('problem')}  ${file}: ${message}`)
      out.line(`${found.files.length} logs, ${records} transactions, ${problems.length} problems`)
    }
    return problems.length === 0 ? exitCodes.ok : exitCodes.no
  },
})

/** A new epoch may begin anywhere; within one no number is left out. */
function isGap(last: bigint, next: bigint): boolean {
  return last >> 32n === next >> 32n ? next !== last + 1n : next < last
}
