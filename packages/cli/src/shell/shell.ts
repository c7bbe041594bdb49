import { processIo, type Io } from '../framework/io.ts'
import { Output } from '../output/output.ts'
import { ShellSession } from './session.ts'
import type { StartOptions } from './start-options.ts'

/** Runs the shell: on a terminal, with a pipe, or for one command. Resolves with the exit code. */
export async function runShell(
  { settings, words, waitsForConnection, color }: StartOptions,
  io: Io = processIo,
): Promise<number> {
  const out = new Output(io, { json: false, quiet: false, color })
  out.line(`Connecting to ${settings.servers}`)
  const isInteractive = words.length === 0 && io.stdin.isTTY === true && io.stdout.isTTY === true
  if (isInteractive) {
    const { runTerminal } = await import('./terminal.ts')
    return runTerminal(settings, io, out)
  }
  const { confirm } = await import('../framework/confirm.ts')
  const session = new ShellSession(settings, io, out, {
    announce: (text) => out.write(text),
    confirm: (question, flag) => confirm(io, question, flag, session.signal),
    handOver: (act) => act(),
  })
  const stopped = new AbortController()
  const stop = (): void => {
    if (stopped.signal.aborted) process.exit(130)
    stopped.abort()
  }
  process.on('SIGINT', stop)
  session.signal = stopped.signal
  try {
    await session.open()
    if (waitsForConnection) await session.client.connected({ timeoutMs: settings.timeoutMs })
    if (words.length > 0) return await session.again(words.join(' '), [...words])
    out.line('Welcome to ZooKeeper!')
    await readLines(session, io, stopped.signal)
    return session.exitCode
  } finally {
    process.off('SIGINT', stop)
    await session.close({ isEnd: true })
  }
}

async function readLines(session: ShellSession, io: Io, signal: AbortSignal): Promise<void> {
  const { createInterface } = await import('node:readline')
  const lines = createInterface({ input: io.stdin, terminal: false, crlfDelay: Infinity })
  signal.addEventListener('abort', () => lines.close(), { once: true })
  for await (const line of lines) {
    if (signal.aborted) return
    await session.execute(line)
    if (session.isOver) return
  }
}
