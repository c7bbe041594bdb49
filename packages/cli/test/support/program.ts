import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Said } from './zabra.ts'

/** How to start the command as a process. */
export const zabraCommand: readonly string[] = [
  process.execPath,
  '--conditions=@zabra/source',
  '--import',
  import.meta.resolve('tsx'),
  fileURLToPath(new URL('main.ts', import.meta.url)),
]

/** Runs the command as a process, with a pipe for each stream. */
export function runZabra(
  words: readonly string[],
  {
    env = {},
    stdin = '',
    signal,
  }: {
    readonly env?: Readonly<Record<string, string>>
    readonly stdin?: string
    readonly signal?: AbortSignal
  } = {},
): Promise<Said> {
  const [program = '', ...args] = [...zabraCommand, ...words]
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      env: { ...process.env, ...env },
      signal,
      killSignal: 'SIGINT',
    })
    const said = { stdout: '', stderr: '' }
    child.stdin.on('error', () => {})
    child.stdin.end(stdin)
    child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()))
    child.on('error', () => {})
    child.on('close', (code) => resolve({ ...said, code: code ?? -1 }))
  })
}
