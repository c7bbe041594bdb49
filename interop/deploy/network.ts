import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { must } from './base-systems.ts'

const subnet = '10.77.0'

/**
 * A separate network for a few pods, unreachable from outside: a bridge in a network namespace.
 * Names come from one hosts file, which every pod sees.
 */
export class Network {
  readonly #holder: ChildProcess
  readonly #hosts = new Map<string, string>()
  readonly hostsFile: string
  #lastAddress = 0

  private constructor(holder: ChildProcess, hostsFile: string) {
    this.#holder = holder
    this.hostsFile = hostsFile
  }

  static async start(hostsFile: string): Promise<Network> {
    const network = new Network(await holdNamespace([]), hostsFile)
    network.#writeHosts()
    await network.#inside('ip link set lo up')
    await network.#inside(
      `ip link add br0 type bridge && ip addr add ${subnet}.254/24 dev br0 && ip link set br0 up`,
    )
    return network
  }

  /** A command prefix that runs a program in this network, outside every pod. */
  get enter(): readonly string[] {
    return ['nsenter', '--target', String(this.#holder.pid), '--net', '--']
  }

  /** A new address in its own namespace; `release` removes it. */
  async address(): Promise<Address> {
    const number = ++this.#lastAddress
    const ip = `${subnet}.${number}`
    const holder = await holdNamespace(this.enter)
    await this.#inside(
      `ip link add v${number} type veth peer name p${number} && ` +
        `ip link set v${number} master br0 up && ip link set p${number} netns ${holder.pid}`,
    )
    const enter = ['nsenter', '--target', String(holder.pid), '--net', '--']
    const script = `ip link set lo up && ip addr add ${ip}/24 dev p${number} && ip link set p${number} up`
    await must(enter[0]!, [...enter.slice(1), 'sh', '-ec', script])
    return { ip, enter, release: () => end(holder) }
  }

  /** Makes a name resolve to an address, or to nothing. */
  setName(name: string, ip: string | undefined): void {
    if (ip === undefined) this.#hosts.delete(name)
    else this.#hosts.set(name, ip)
    this.#writeHosts()
  }

  stop(): Promise<void> {
    return end(this.#holder)
  }

  /** In place, because this very file is mounted in pods. */
  #writeHosts(): void {
    const lines = [...this.#hosts].map(([name, ip]) => `${ip} ${name}\n`)
    writeFileSync(this.hostsFile, `127.0.0.1 localhost\n${lines.join('')}`)
  }

  async #inside(script: string): Promise<void> {
    const [command, ...args] = this.enter
    await must(command!, [...args, 'sh', '-ec', script])
  }
}

export interface Address {
  readonly ip: string
  /** A command prefix that runs a program at this address. */
  readonly enter: readonly string[]
  release(): Promise<void>
}

/** A process whose only purpose is to keep a network namespace alive. */
async function holdNamespace(from: readonly string[]): Promise<ChildProcess> {
  const [command, ...args] = [
    ...from,
    'unshare',
    '--net',
    'sh',
    '-c',
    'echo ready; exec sleep infinity',
  ]
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout!, 'data')
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'close')
  child.kill('SIGKILL')
  await ended
}
