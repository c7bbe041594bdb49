import { createReadStream, statSync } from 'node:fs'
import { defineCommand } from '../../framework/command.ts'
import { CommandError } from '../../framework/errors.ts'
import { exitCodes } from '../../framework/exit-codes.ts'
import { counted, sizeText } from '../../output/units.ts'

export const command = defineCommand({
  arguments: {
    directory: {
      kind: 'file',
      help: 'directory of backups, or a tar file; - reads a tar stream from stdin',
    },
  },
  options: {
    replay: {
      type: 'flag',
      help: 'also replay all transactions and compare the tree with the digests that the server recorded',
    },
  },
  offline: true,
  details: `Compares every file with its SHA-256, and checks that each backup follows the previous one. Names each file that is
damaged, missing or in the wrong place. \`sha256sum -c SHA256SUMS\` in a folder checks its files without zabra. Exit code 1
means that something is wrong.`,
  examples: [
    ['zabra backup verify /backups/zk', 'whether the backups are complete and unchanged'],
    ['zabra backup verify /backups/zk --replay', 'and whether they can be restored'],
  ],
  async run({ args: { directory }, options, out, io, signal }) {
    const { verifyDirectory, verifyStream } = await import('../../backup/verify.ts')
    const progress = out.progress('verifying files')
    const isStream = directory === '-' || isFile(directory)
    if (isStream && options.replay === true)
      throw new CommandError('--replay needs a directory', { hint: 'unpack the stream with tar' })
    const { problems, backups, files, bytes } = isStream
      ? await verifyStream(directory === '-' ? io.stdin : createReadStream(directory), signal, () =>
          progress.add(),
        )
      : await verifyDirectory(directory, signal, () => progress.add())
    const all = [...problems]
    let replayed: number | undefined
    if (options.replay === true && problems.length === 0) {
      const { replayAll } = await import('../../backup/state.ts')
      const found = await replayAll(directory, { signal })
      replayed = found.transactions
      all.push(...found.problems)
    }
    progress.end()
    const ok = all.length === 0
    if (out.json)
      await out.data({
        ok,
        backups,
        files,
        bytes,
        ...(replayed === undefined ? {} : { replayed }),
        problems: all,
      })
    else {
      for (const { file, message } of all)
        out.line(`${out.style.red('problem')}  ${file}: ${message}`)
      const more = replayed === undefined ? '' : `, ${counted(replayed, 'transaction')} replayed`
      out.line(
        `${counted(backups, 'backup')}, ${counted(files, 'file')}, ${sizeText(bytes)}${more}, ${counted(all.length, 'problem')}`,
      )
    }
    return ok ? exitCodes.ok : exitCodes.no
  },
})

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}
