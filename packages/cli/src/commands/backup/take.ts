import { basename, dirname, resolve } from 'node:path'
import { defineCommand } from '../../framework/command.ts'
import { UsageError } from '../../framework/errors.ts'
import { counted, sizeText } from '../../output/units.ts'
import { partsOf } from '../../backup/manifest.ts'

export const command = defineCommand({
  options: {
    output: {
      type: 'text',
      short: 'o',
      value: 'DIR',
      kind: 'file',
      help: 'directory of the backups; - writes a tar stream to stdout',
    },
    admin: {
      type: 'text',
      value: 'URL',
      many: true,
      help: 'admin port of a server; repeat it for more (default: asked of each server)',
    },
    dataDir: {
      type: 'text',
      value: 'DIR',
      kind: 'file',
      help: 'back up the files of a stopped server, zabra or Apache ZooKeeper, instead',
    },
    dataLogDir: {
      type: 'text',
      value: 'DIR',
      kind: 'file',
      help: 'directory of its transaction logs (default: beside the snapshots)',
    },
    full: { type: 'flag', help: 'take a full backup' },
    fullEvery: {
      type: 'integer',
      value: 'COUNT',
      help: 'take a full backup after COUNT backups of transactions',
    },
    fresh: { type: 'flag', help: 'let the server take a new snapshot for a full backup' },
    keep: {
      type: 'integer',
      value: 'COUNT',
      help: 'keep COUNT full backups and what follows them; remove older backups',
    },
    after: {
      type: 'text',
      value: 'FOLDER',
      kind: 'file',
      help: 'with --output -: folder of the backup that this one continues',
    },
    rate: { type: 'size', help: 'maximum bytes per second, for example 20m' },
  },
  details: `The first backup in a directory is full: a snapshot and the transactions after it. Each later backup holds the
transactions since the previous one, so \`zabra restore\` can restore any moment in between. Servers continue to serve. Every
file has a SHA-256, and every backup names the previous one. An interrupted backup leaves nothing that looks complete.

It needs the identity of an administrator and zabra servers. It takes a full backup if the logs of the server do not reach
back to the last backup, or have a different history.`,
  examples: [
    [
      'zabra backup --output /backups/zk --auth @ops.txt',
      'a full backup first, then new transactions',
    ],
    [
      'zabra backup -o /backups/zk --full-every 24 --keep 7 --auth @ops.txt',
      'for an hourly timer: a full backup each day, kept for a week',
    ],
    [
      'zabra backup -o /backups/zk --data-dir /var/lib/zookeeper',
      'back up the files of a stopped server',
    ],
    [
      'zabra backup --output - --auth @ops.txt | ssh store "tar x -C /backups/zk"',
      'send the backup to another machine',
    ],
  ],
  async run({ options, out, io, signal, settings }) {
    const { output, dataDir, keep, fullEvery } = options
    if (output === undefined)
      throw new UsageError(
        '--output names the directory of the backups',
        'for example --output /backups/zookeeper',
      )
    if (keep !== undefined && keep < 1) throw new UsageError('--keep is at least 1')
    if (fullEvery !== undefined && fullEvery < 1) throw new UsageError('--full-every is at least 1')
    if (options.after !== undefined && output !== '-')
      throw new UsageError('--after goes with --output -; a directory knows its last backup')
    if (output === '-' && (keep ?? fullEvery) !== undefined)
      throw new UsageError('--keep and --full-every need a directory, not --output -')
    if (dataDir !== undefined && options.admin !== undefined)
      throw new UsageError('--data-dir or --admin, not both')
    if (output === '-' && io.stdout.isTTY === true)
      throw new UsageError(
        'a backup cannot be written to a terminal',
        'send it to a pipe or a file',
      )
    const { takeIntoDirectory, takeToStream } = await import('../../backup/take.ts')
    const progress = out.progress('copying bytes')
    const takeOptions = {
      source: await sourceOf(),
      isFull: options.full === true,
      fullEvery,
      isFresh: options.fresh === true,
      keep,
      note: (text: string) => out.note(text),
      onBytes: (bytes: number) => progress.add(bytes),
    }
    const taken =
      output === '-'
        ? await takeToStream(io, await previousOf(options.after), takeOptions)
        : await takeIntoDirectory(output, takeOptions)
    progress.end()
    if (taken === undefined) {
      if (out.json && output !== '-') await out.data({ folder: null })
      else out.note('nothing happened since the last backup')
      return
    }
    const { folder, manifest, removed } = taken
    const bytes = partsOf(manifest).reduce((sum, part) => sum + part.bytes, 0)
    const transactions = manifest.logs.reduce((sum, log) => sum + log.transactions, 0)
    if (out.json && output !== '-') {
      const { kind, continues, last, takenAt } = manifest
      await out.data({
        folder,
        kind,
        continues,
        zxid: last.zxid,
        takenAt,
        bytes,
        transactions,
        removed,
      })
      return
    }
    const what = manifest.kind === 'full' ? 'a snapshot and ' : ''
    out.note(
      `${folder}: ${what}${counted(transactions, 'transaction')} up to ${manifest.last.zxid}, ${sizeText(bytes)}`,
    )
    for (const name of removed) out.note(`removed ${name}`)

    async function sourceOf() {
      if (dataDir !== undefined) {
        const { DirectorySource } = await import('../../backup/directory-source.ts')
        return new DirectorySource(dataDir, options.dataLogDir, (text) => out.warn(text))
      }
      const { ServerSource } = await import('../../backup/server-source.ts')
      const { adminBases } = await import('../../ensemble/admin.ts')
      const connection = settings()
      return new ServerSource({
        bases: await adminBases(connection, options.admin, signal),
        settings: connection,
        signal,
        note: (text) => out.note(text),
        rate: options.rate,
      })
    }
  },
})

async function previousOf(folder: string | undefined) {
  if (folder === undefined) return undefined
  const { readBackup } = await import('../../backup/chain.ts')
  const path = resolve(folder)
  return readBackup(dirname(path), basename(path))
}
