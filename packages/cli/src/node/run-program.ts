import { spawn } from 'node:child_process'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import type { Io } from '../framework/io.ts'

/** Runs a program on the terminal of this process; resolves with its exit code. */
export function runProgram(words: readonly string[], io: Io): Promise<number> {
  const [program = '', ...args] = words
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit', env: { ...io.env } })
    // The program has the terminal: Ctrl-C is for it.
    const ignore = (): void => {}
    process.on('SIGINT', ignore)
    child.on('error', (error) => {
      process.off('SIGINT', ignore)
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
      reject(
        new CommandError(isMissing ? `there is no program '${program}'` : error.message, {
          exitCode: isMissing ? exitCodes.notFound : exitCodes.failed,
          cause: error,
        }),
      )
    })
    child.on('exit', (code, signal) => {
      process.off('SIGINT', ignore)
      resolve(code ?? (signal === null ? 1 : 128))
    })
  })
}
