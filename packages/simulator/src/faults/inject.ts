import type { Cluster } from '../cluster/cluster.ts'
import type { Fault } from './schedule.ts'

/** Makes a fault happen now. */
export function inject(cluster: Cluster, fault: Fault): void {
  const { world, network, recorder } = cluster
  const { forMs, amount } = fault
  const server = cluster.servers[Math.floor(Math.abs(amount) * 7919) % cluster.servers.length]!
  const client = cluster.clients[fault.client]!
  const { condition } = server.disk
  recorder.count(`fault: ${fault.kind}`)
  recorder.trace(`fault: ${fault.kind} (${fault.amount.toFixed(2)}, ${forMs} ms, ${client.name})`)
  const forAWhile = (begin: () => void, end: () => void): void => {
    begin()
    world.after(forMs, end)
  }
  switch (fault.kind) {
    case 'powerFailure':
    case 'kill':
      server.crash(fault.kind === 'kill' ? 'is killed' : 'power fails')
      server.startLater(forMs)
      return
    case 'stop':
      void server.stop().then(() => server.startLater(forMs))
      return
    case 'crashAtCall':
      condition.callsUntilCrash = amount
      return
    case 'pause': {
      const { process } = server
      if (process?.alive !== true) return
      forAWhile(
        () => process.pause(),
        () => process.resume(),
      )
      return
    }
    case 'diskFull':
      forAWhile(
        () => (condition.isFull = true),
        () => (condition.isFull = false),
      )
      return
    case 'failedSync':
      condition.failsNextSync = true
      return
    case 'slowDisk':
      forAWhile(
        () => (condition.slowness = amount),
        () => (condition.slowness = 1),
      )
      return
    case 'bitFlips':
      forAWhile(
        () => (condition.flipChance = 0.3),
        () => (condition.flipChance = 0),
      )
      return
    case 'reset':
      client.resetConnection()
      return
    case 'partition':
    case 'deafClient':
    case 'deafServer': {
      const toServer = fault.kind !== 'deafClient'
      const toClient = fault.kind !== 'deafServer'
      forAWhile(
        () => {
          if (toServer) network.block(client.name, server.name)
          if (toClient) network.block(server.name, client.name)
        },
        () => {
          network.unblock(client.name, server.name)
          network.unblock(server.name, client.name)
        },
      )
      return
    }
    case 'wallJump':
      server.clock.wallOffsetMs += Math.floor(amount)
      return
    case 'snapshot':
      if (server.isServing) void server.process?.journal?.snapshotNow()
  }
}

/** Nothing is wrong any more: from now on there must be progress. */
export function heal(cluster: Cluster): void {
  cluster.network.healAll()
  for (const server of cluster.servers) {
    const { condition } = server.disk
    condition.slowness = 1
    condition.isFull = false
    condition.failsNextSync = false
    condition.flipChance = 0
    condition.callsUntilCrash = Infinity
    server.process?.resume()
    server.startLater(0)
  }
  cluster.recorder.trace('everything heals')
}
