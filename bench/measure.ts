import type { Bench } from './bench.ts'
import type { Cluster } from './cluster.ts'
import { machineUsage, usageOf, type MachineUsage } from './proc.ts'
import { isSound, runZkload, type LoadResult } from './zkload.ts'

const rssEveryMs = 250

/** The result of a load, with the resources that the servers and the rest of the machine used. */
export interface Measurement {
  readonly load: LoadResult
  readonly serverUsPerOp: number
  readonly serverCores: number
  readonly peakRssMb: number
  /** Cores used by other processes: above 0.1 or 0.2, repeat the run. */
  readonly otherCores: number
}

interface Snapshot {
  readonly atMs: number
  readonly serverCpuS: number
  readonly zkloadCpuS: number
  readonly machine: MachineUsage
}

/** Runs one load; measures the time between zkload's marks. */
export async function measure(
  bench: Bench,
  cluster: Cluster,
  args: readonly string[],
  context: object,
): Promise<Measurement> {
  await bench.quiet()
  cluster.assertUp()
  const { pids } = cluster
  let peakRssMb = usageOf(pids).rssMb
  const snapshots: Partial<Record<'begin' | 'end', Snapshot>> = {}
  const poll = setInterval(() => {
    peakRssMb = Math.max(peakRssMb, usageOf(pids).rssMb)
  }, rssEveryMs)
  const [mode = '', ...rest] = args
  const load = await runZkload([mode, ...cluster.loadArgs, ...rest], {
    onMark: (mark, zkloadPid) => {
      const server = usageOf(pids)
      peakRssMb = Math.max(peakRssMb, server.rssMb)
      snapshots[mark] = {
        atMs: performance.now(),
        serverCpuS: server.cpuS,
        zkloadCpuS: usageOf([zkloadPid]).cpuS,
        machine: machineUsage(),
      }
    },
  })
  clearInterval(poll)
  const measurement = { load, peakRssMb, ...shares(snapshots.begin, snapshots.end, load) }
  const { load: figures, ...usage } = measurement
  bench.record({ server: cluster.kind.label, ...context, args, ...usage, ...figures })
  reportErrors(bench, cluster, mode, load, context)
  return measurement
}

function shares(
  begin: Snapshot | undefined,
  end: Snapshot | undefined,
  { ops, notifications, opened, created, acks }: LoadResult,
): Pick<Measurement, 'serverUsPerOp' | 'serverCores' | 'otherCores'> & {
  readonly stealCores: number
} {
  if (begin === undefined || end === undefined) {
    return { serverUsPerOp: NaN, serverCores: NaN, otherCores: NaN, stealCores: NaN }
  }
  const windowS = (end.atMs - begin.atMs) / 1000
  const serverS = end.serverCpuS - begin.serverCpuS
  const zkloadS = end.zkloadCpuS - begin.zkloadCpuS
  const othersS = end.machine.busyS - begin.machine.busyS - serverS - zkloadS
  const count = ops ?? notifications ?? opened ?? created ?? acks ?? NaN
  return {
    serverUsPerOp: (serverS * 1e6) / count,
    serverCores: serverS / windowS,
    otherCores: Math.max(0, othersS) / windowS,
    stealCores: (end.machine.stealS - begin.machine.stealS) / windowS,
  }
}

function reportErrors(
  bench: Bench,
  cluster: Cluster,
  mode: string,
  load: LoadResult,
  context: object,
): void {
  if (isSound(load)) return
  const where = 'scenario' in context ? String(context.scenario) : mode
  const counted = `${load.errors} errors, ${load.conn_failures ?? 0} connections refused`
  const what = load.failed ?? counted
  bench.problem(`${where} on ${cluster.kind.label}: ${what}; ${load.first_problem ?? 'no detail'}`)
}
