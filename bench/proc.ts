import { readdirSync, readFileSync } from 'node:fs'

/**
 * Clock ticks per second in /proc: 100 on every Linux (`getconf CLK_TCK`), whatever the kernel's
 * HZ.
 */
const ticksPerS = 100

export interface Usage {
  /** User and system time since the processes began. */
  readonly cpuS: number
  readonly rssMb: number
}

export interface MachineUsage {
  readonly busyS: number
  /** Time that the hypervisor gave to other machines. */
  readonly stealS: number
}

/** The fields after the command name, which may contain spaces and brackets. */
export function statFields(stat: string): readonly string[] {
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .trim()
    .split(' ')
}

function read(file: string): string | undefined {
  try {
    return readFileSync(`/proc/${file}`, 'latin1')
  } catch {
    return undefined // the process has ended
  }
}

/** These processes and all their descendants: a server may be a launcher and its child. */
export function withDescendants(roots: readonly number[]): readonly number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = read(`${name}/stat`)
    if (stat === undefined) continue
    const parent = Number(statFields(stat)[1])
    children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  const found: number[] = []
  const queue = [...roots]
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    found.push(pid)
    queue.push(...(children.get(pid) ?? []))
  }
  return found
}

/** The resources used by all these processes together. */
export function usageOf(pids: readonly number[]): Usage {
  let cpuS = 0
  let rssMb = 0
  for (const pid of pids) {
    const stat = read(`${pid}/stat`)
    const status = read(`${pid}/status`)
    if (stat === undefined || status === undefined) continue
    const fields = statFields(stat)
    cpuS += (Number(fields[11]) + Number(fields[12])) / ticksPerS
    rssMb += Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
  }
  return { cpuS, rssMb }
}

/** The resources used by the whole machine: shows how much other processes took during a run. */
export function machineUsage(): MachineUsage {
  const line = (read('stat') ?? '').split('\n')[0] ?? ''
  const ticks = line.trim().split(/\s+/).slice(1).map(Number)
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = ticks
  return {
    busyS: (user + nice + system + irq + softirq) / ticksPerS,
    stealS: steal / ticksPerS,
  }
}
