import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import type { Io } from '../framework/io.ts'

/** Why a program cannot be started, by the code of the operating system. */
const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such program',
  EACCES: 'it may not be executed',
}

/** Exit codes of shells: 128 and the number of the signal that ended a program. */
const signalBase = 128

/** A program that runs on the terminal, or with the streams, of the command. */
export class Program {
  /** Its exit code, as a shell gives it. */
  readonly ended: Promise<number>
  private readonly child: ChildProcess
  /** Whether it has a process group of its own, with everything that it starts. */
  private readonly hasGroup: boolean

  constructor(words: readonly string[], io: Io, env: Readonly<Record<string, string>>) {
    const [file = '', ...args] = words
    // On a terminal the program must be in the group that reads it and gets Ctrl-C.
    this.hasGroup = io.stdin.isTTY !== true && process.platform !== 'win32'
    const isProcess = io.stdout === process.stdout
    this.child = spawn(file, args, {
      env: { ...io.env, ...env },
      stdio: isProcess ? 'inherit' : ['ignore', 'pipe', 'pipe'],
      detached: this.hasGroup,
    })
    this.child.stdout?.pipe(io.stdout, { end: false })
    this.child.stderr?.pipe(io.stderr, { end: false })
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', (cause: Error & { code?: string }) =>
        reject(
          new CommandError(`cannot run ${file}: ${reasons[cause.code ?? ''] ?? cause.message}`, {
            code: 'cannotRun',
            exitCode: exitCodes.failed,
            cause,
          }),
        ),
      )
      this.child.once('close', (code, signal) =>
        resolve(code ?? signalBase + (signal === null ? 0 : constants.signals[signal])),
      )
    })
  }

  /** Sends a signal to the program and to everything that it started. */
  signal(name: NodeJS.Signals): void {
    const { pid } = this.child
    if (pid === undefined || this.child.exitCode !== null || this.child.signalCode !== null) return
    try {
      process.kill(this.hasGroup ? -pid : pid, name)
    } catch {
      // It has just ended.
    }
  }
}
