import { defineCommand } from '../../framework/command.ts'
import { hex } from '../../node/stat.ts'
import { sizeText } from '../../output/units.ts'
import { partsOf } from '../../backup/manifest.ts'

export const command = defineCommand({
  arguments: { directory: { kind: 'file', help: 'directory of backups' } },
  offline: true,
  details: `Lists every backup with its last transaction, and the ranges that \`zabra restore\` can restore.`,
  examples: [['zabra backup ls /backups/zk', 'list the backups']],
  async run({ args: { directory }, out }) {
    const { listUnfinished, readChain } = await import('../../backup/chain.ts')
    const { linesOf, rangeOf } = await import('../../backup/state.ts')
    const chain = await readChain(directory)
    const ranges = linesOf(chain)
      .map(rangeOf)
      .toReversed()
      .map(({ from, to }) => ({
        from: { zxid: hex(from.zxid), time: from.time },
        to: { zxid: to.zxid, time: to.takenAt },
      }))
    const backups = chain.map(({ folder, manifest }) => ({
      folder,
      kind: manifest.kind,
      takenAt: manifest.takenAt,
      zxid: manifest.last.zxid,
      time: manifest.last.time,
      transactions: manifest.logs.reduce((sum, log) => sum + log.transactions, 0),
      bytes: partsOf(manifest).reduce((sum, part) => sum + part.bytes, 0),
      continues: manifest.continues,
      source: manifest.source,
    }))
    const unfinished = await listUnfinished(directory)
    if (out.json) return out.data({ backups, restorable: ranges, unfinished })
    out.table(
      ['BACKUP', 'UP TO', 'TRANSACTIONS', 'SIZE', 'FROM'],
      backups.map(({ folder, zxid, transactions, bytes, source }) => [
        folder,
        zxid,
        String(transactions),
        sizeText(bytes),
        source,
      ]),
    )
    for (const { from, to } of ranges)
      out.line(`restorable: ${from.zxid} (${from.time}) to ${to.zxid} (${to.time})`)
    for (const name of unfinished) out.note(`${name}: being written, or interrupted`)
  },
})
