import { statSync } from 'node:fs'
import { defineCommand } from '../../framework/command.ts'
import { hex } from '../../node/stat.ts'
import { findSnapshots } from '../../offline/files.ts'

export const command = defineCommand({
  arguments: { path: { kind: 'file', help: 'a data directory of zabra or Apache' } },
  offline: true,
  examples: [['zabra snapshot ls /var/lib/zookeeper', 'the snapshots of a data directory']],
  async run({ args, out }) {
    const { directory, files } = await findSnapshots(args.path)
    const rows = files.map(({ name, bytes, zxid }) => ({
      file: name,
      zxid: hex(zxid),
      bytes,
      modified: statSync(`${directory}/${name}`).mtime.toISOString(),
    }))
    if (out.json) await out.data(rows)
    else
      out.table(
        ['FILE', 'ZXID', 'BYTES', 'MODIFIED'],
        rows.map((row) => [row.file, row.zxid, row.bytes, row.modified]),
      )
  },
})
