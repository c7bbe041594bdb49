/**
 * The command `zabra`: a server, a shell, and one-shot commands for data, coordination and operations.
 *
 *     process.exitCode = await main(['get', '/greeting'])
 *
 * - `table/`: the table of commands. Each entry names the file to load when the command is used, so a
 *   one-shot never loads the server;
 * - `commands/`: one file per command: its arguments, options, examples, and what it does;
 * - `framework/`: parses the command line, runs a command, describes errors, prints help;
 * - `connection/`, `ensemble/`: which servers to use (options, environment, contexts), and how to ask
 *   all members of an ensemble;
 * - `output/`: tables, JSON, colors, progress;
 * - `shell/`: the interactive shell; `shell/zk/` has the commands of zkCli.sh;
 * - `trees/`, `node/`, `offline/`, `holding/`, `backup/`, `history/`, `doctor/`, `dev/`: what groups of
 *   commands share.
 *
 * To add a command, write one file in `commands/` and one entry in `table/`. docs/command.md is the guide.
 */
import { exitCodes } from './framework/exit-codes.ts'
import { run } from './framework/run.ts'
import { commands } from './table/index.ts'

/** The command `zabra`: resolves with the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  process.stdout.on('error', leaveQuietly)
  process.stderr.on('error', leaveQuietly)
  const code = await run(commands, args)
  await Promise.all([process.stdout, process.stderr].map(flushed))
  return code
}

/** A pipe takes long output in parts; the process must not exit before its reader has the last one. */
async function flushed(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0 || stream.destroyed) return
  await new Promise<void>((resolve) => stream.write('', () => resolve()))
}

/** The reader of a pipe went away, as `head` does when it has enough. */
function leaveQuietly({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(exitCodes.brokenPipe)
}
