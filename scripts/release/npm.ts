import { spawnSync } from 'node:child_process'

/** Runs npm and returns its output; throws an error with its messages if it fails. */
export function npm(args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync('npm', args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    shell: process.platform === 'win32',
  })
  if (status !== 0)
    throw new Error(`npm ${args.join(' ')} failed: ${error?.message ?? `${stdout}${stderr}`}`)
  return stdout
}
