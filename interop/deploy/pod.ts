import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runTool, type ToolResult } from '../src/tools.ts'
import { mkdir } from './base-systems.ts'
import type { Image } from './image.ts'
import type { Address, Network } from './network.ts'

export interface PodOptions {
  readonly image: Image
  readonly env: Readonly<Record<string, string>>
  /** Replaces the image's CMD. */
  readonly args?: readonly string[]
  /** A folder of this machine, mounted at the image's volume. */
  readonly dataDir: string
  /** Mounted at /etc/zabra. */
  readonly configDir?: string
}

/**
 * A container without an engine: namespaces for network, mounts and processes, the image as its
 * read-only root, and the image's user without any capability.
 */
export class Pod {
  output = ''
  readonly ip: string
  readonly #child: ChildProcess
  readonly #address: Address
  readonly #image: Image
  readonly #env: Readonly<Record<string, string>>
  readonly #ended: Promise<unknown>

  private constructor(child: ChildProcess, address: Address, { image, env }: PodOptions) {
    this.#child = child
    this.#address = address
    this.ip = address.ip
    this.#image = image
    this.#env = { ...image.env, ...env }
    this.#ended = once(child, 'close')
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => (this.output += chunk.toString()))
  }

  static async start(network: Network, options: PodOptions): Promise<Pod> {
    const { image, dataDir, configDir, env, args = image.cmd } = options
    const address = await network.address()
    const [uid, gid] = image.user.split(':').map(Number) as [number, number]
    chownSync(mkdir(dataDir), uid, gid)
    const { root } = image
    const mounts = [
      'mount --make-rprivate /',
      `mount --bind ${root} ${root}`,
      `mount -t proc proc ${root}/proc`,
      `mount --rbind /dev ${root}/dev`,
      ...image.volumes.map((volume) => `mount --bind ${dataDir} ${root}${volume}`),
      `mount --bind ${network.hostsFile} ${root}/etc/hosts`,
      ...(configDir === undefined
        ? []
        : [`mount --bind ${configDir} ${mkdir(join(root, 'etc/zabra'))}`]),
      `mount -o remount,bind,ro ${root}`,
    ]
    const settings = Object.entries({ ...image.env, ...env }).map(([k, v]) => `${k}=${v}`)
    const become = `--root=${root} --wd=${image.workdir} --setgid=${gid} --setuid=${uid}`
    const script = `${mounts.join(' && ')} && exec /usr/bin/env -i "$@"`
    const argv = [
      ...settings,
      '/usr/bin/setpriv',
      '--no-new-privs',
      '--clear-groups',
      '/usr/bin/unshare',
      ...become.split(' '),
      '--',
      ...image.entrypoint,
      ...args,
    ]
    const [command, ...rest] = [
      ...address.enter,
      'unshare',
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      'sh',
      '-ec',
      script,
      'sh',
      ...argv,
    ]
    const child = spawn(command!, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
    return new Pod(child, address, options)
  }

  /** Runs a command inside, like `docker exec` and probes. */
  exec(command: readonly string[]): Promise<ToolResult> {
    const pid = this.#pid()
    if (pid === undefined) return Promise.resolve({ ok: false, output: 'it does not run' })
    const [uid, gid] = this.#image.user.split(':')
    const enter = ['--target', pid, '--net', '--mount', '--pid', '--root', '--wd']
    const settings = Object.entries(this.#env).map(([k, v]) => `${k}=${v}`)
    const identity = ['--setuid', uid!, '--setgid', gid!]
    return runTool(
      'env',
      ['-i', ...settings, '/usr/bin/nsenter', ...enter, ...identity, '--', ...command],
      {
        timeoutMs: 10_000,
      },
    )
  }

  /** The kernel's status of the server's process. */
  status(): string {
    const pid = this.#pid()
    return pid === undefined ? '' : readFileSync(`/proc/${pid}/status`, 'utf8')
  }

  /** Asks a port of this pod from inside. */
  async probe(port: number, path: string): Promise<ToolResult> {
    const script = `fetch('http://${this.ip}:${port}${path}', { signal: AbortSignal.timeout(3000) })
      .then(async (r) => { console.log(await r.text()); process.exitCode = r.ok ? 0 : 1 })
      .catch((e) => { console.log(e.message); process.exitCode = 1 })`
    const [command, ...args] = [...this.#address.enter, process.execPath, '-e', script]
    return runTool(command!, args, { timeoutMs: 10_000 })
  }

  async until(what: string, ask: () => Promise<ToolResult>, patienceMs = 60_000): Promise<void> {
    const endMs = performance.now() + patienceMs
    for (;;) {
      const { ok, output } = await ask()
      if (ok) return
      const hasEnded = this.#child.exitCode !== null || this.#child.signalCode !== null
      if (hasEnded || performance.now() > endMs)
        throw new Error(`${this.ip}: not ${what}: ${output}\n${this.output}`)
      await delay(100)
    }
  }

  /** Stops it, by SIGKILL after the grace period; returns the exit code. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM', graceMs = 60_000): Promise<number | null> {
    const pid = this.#pid()
    if (pid !== undefined) process.kill(Number(pid), signal)
    const late = setTimeout(() => this.#child.kill('SIGKILL'), graceMs)
    await this.#ended
    clearTimeout(late)
    await this.#address.release()
    return this.#child.exitCode
  }

  /** The server is process 1 of its namespace; this is its id outside. */
  #pid(): string | undefined {
    const file = `/proc/${this.#child.pid}/task/${this.#child.pid}/children`
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ')[0] : undefined
  }
}

/** Writes the files of a ConfigMap into a folder. */
export function writeConfig(folder: string, files: Readonly<Record<string, string>>): string {
  mkdir(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}
