import { exitCodes } from './framework/exit-codes.ts'
import { run } from './framework/run.ts'
import { commands } from './table/index.ts'

/** The command `zabra`: resolves with the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  process.stdout.on('error', leaveQuietly)
  process.stderr.on('error', leaveQuietly)
  return run(commands, args)
}

/** The reader of a pipe went away, as `head` does when it has enough. */
function leaveQuietly({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(exitCodes.brokenPipe)
}
