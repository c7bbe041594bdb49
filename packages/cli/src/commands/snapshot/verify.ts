import { defineCommand } from '../../framework/command.ts'
import { exitCodes } from '../../framework/exit-codes.ts'
import { findLogs, findSnapshots } from '../../offline/files.ts'
import { replay } from '../../offline/replay.ts'

export const command = defineCommand({
  arguments: {
    path: { kind: 'file', help: 'a snapshot, or a data directory of zabra or Apache' },
  },
  options: {
    logs: {
      type: 'text',
      value: 'DIRECTORY',
      kind: 'file',
      help: 'directory of the logs (by default beside the snapshots)',
    },
    only: { type: 'flag', help: 'check the files without the following logs' },
  },
  offline: true,
  details: `Loads every snapshot with its checksums, replays the following logs in memory, and compares the digest of the tree
with every digest that the server recorded. It writes nothing. Exit code 1 means that something is wrong.`,
  examples: [
    ['zabra snapshot verify /var/lib/zookeeper', 'whether a server can start from this directory'],
    ['zabra snapshot verify backup/snapshot.100000000 --only', 'a single file'],
  ],
  async run({ args, options, out, signal }) {
    const { directory, files } = await findSnapshots(args.path)
    const found =
      options.only === true
        ? undefined
        : await findLogs(options.logs ?? directory).catch(() => undefined)
    const logs = found?.files.map(({ name }) => `${found.directory}/${name}`) ?? []
    const results = []
    const progress = out.progress('verifying', files.length)
    for (const file of files) {
      try {
        const { db, transactions, mismatch } = await replay(directory, file, logs, { signal })
        const nodes = db.tree.size
        const lastZxid = `0x${db.lastZxid.toString(16)}`
        results.push({ file: file.name, nodes, transactions, lastZxid, problem: mismatch ?? null })
      } catch (error) {
        signal.throwIfAborted()
        results.push({ file: file.name, problem: (error as Error).message })
      }
      progress.add()
    }
    progress.end()
    const isSound = results.every(({ problem }) => problem === null)
    if (out.json) await out.data({ ok: isSound, snapshots: results })
    else
      for (const { file, nodes, transactions, lastZxid, problem } of results)
        out.line(
          problem === null
            ? `${out.style.green('sound')}    ${file}: ${nodes} nodes, ${transactions} transactions behind it, up to ${lastZxid}`
            : `${out.style.red('problem')}  ${file}: ${problem}`,
        )
    return isSound ? exitCodes.ok : exitCodes.no
  },
})
