import { Network } from './network.ts'
import type { Pod } from './pod.ts'
import { expectGoodVisit, Visiting } from './visiting.ts'

/** A few servers with stable names and changing addresses. */
export interface Service {
  /** In the order of a rolling update. */
  readonly names: readonly string[]
  readonly graceMs: number
  start(name: string, network: Network): Promise<Pod>
  /** Resolves when the orchestrator would continue with the next one. */
  ready(pod: Pod): Promise<void>
}

/**
 * Starts all servers, and restarts them one after the other as an orchestrator does, each with a
 * new address, while clients hold sessions and write. Returns what the clients measured.
 */
export async function restartAllOf(service: Service, hostsFile: string): Promise<string> {
  const network = await Network.start(hostsFile)
  const pods = new Map<string, Pod>()
  const visits: Visiting[] = []
  const start = async (name: string): Promise<void> => {
    const pod = await service.start(name, network)
    pods.set(name, pod)
    network.setName(name, pod.ip)
  }
  try {
    for (const name of service.names) await start(name)
    for (const pod of pods.values()) await service.ready(pod)
    // Names rather than addresses, so that a client finds a server at its new address.
    const servers = service.names.map((name) => `${name}:2181`).join()
    for (let i = 0; i < 3; i++) visits.push(await Visiting.start(network, servers))
    for (const name of service.names) {
      const code = await pods.get(name)!.stop('SIGTERM', service.graceMs)
      network.setName(name, undefined)
      if (code !== 0) throw new Error(`${name} ended with ${code}: ${pods.get(name)!.output}`)
      await start(name)
      await service.ready(pods.get(name)!)
    }
    const results = []
    for (const visiting of visits) results.push(await visiting.end())
    for (const result of results) expectGoodVisit(result)
    const writes = results.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
    const pauseMs = Math.max(...results.map(({ longestPauseMs }) => longestPauseMs))
    return `${pods.size} restarts, ${writes} writes, none lost, ${results.length} sessions kept, longest pause ${pauseMs} ms`
  } finally {
    for (const visiting of visits) visiting.kill()
    for (const pod of pods.values()) await pod.stop('SIGKILL')
    await network.stop()
  }
}
