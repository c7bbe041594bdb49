import { spawn } from 'node:child_process'

export interface ToolResult {
  readonly ok: boolean
  /** The program's output, both streams together. */
  readonly output: string
}

/** Runs a program, and stops it when its time is up. Never throws. */
export function runTool(
  command: string,
  args: readonly string[],
  options: {
    readonly timeoutMs?: number
    readonly cwd?: string
    /** Added to the current environment. */
    readonly env?: Readonly<Record<string, string>>
  } = {},
): Promise<ToolResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: options.timeoutMs ?? 60_000,
      killSignal: 'SIGKILL',
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.on('error', (error) => resolve({ ok: false, output: error.message }))
    child.on('close', (code, signal) => {
      const ending = signal === null ? '' : `\n${command} was ended by ${signal}`
      resolve({ ok: code === 0, output: output + ending })
    })
  })
}

/** Whether the program is available; tries to install it if it is missing. */
export async function ensureTool(
  command: string,
  debianPackages: readonly string[],
): Promise<boolean> {
  if (await isThere(command)) return true
  await installDebian(debianPackages)
  return isThere(command)
}

/** Installs Debian packages with apt-get; returns its result and output. */
export async function installDebian(packages: readonly string[]): Promise<ToolResult> {
  say(`installing ${packages.join(' ')} with apt-get`)
  const args = ['install', '-y', '--no-install-recommends', ...packages]
  const first = await runTool('apt-get', args, { timeoutMs: 300_000 })
  if (first.ok) return first
  // The package lists of a fresh container are empty or outdated.
  await runTool('apt-get', ['update'], { timeoutMs: 120_000 })
  return runTool('apt-get', args, { timeoutMs: 300_000 })
}

/** Progress goes to stderr, so that a suite's stdout contains only its results. */
export function say(sentence: string): void {
  process.stderr.write(`interop: ${sentence}\n`)
}

async function isThere(command: string): Promise<boolean> {
  const { ok } = await runTool('sh', ['-c', 'command -v -- "$1"', 'sh', command])
  return ok
}
