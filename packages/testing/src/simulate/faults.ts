import { emptyOne, leaderOf, type Cluster, type Random, type SimServer } from '@zabra/simulator'
import { defaultSessionMs, type FaultName, type Settings } from './options.ts'
import type { SimulatedProgram } from './program.ts'

/** A planned fault. It happens if it can at that time. */
export interface PlannedFault {
  readonly kind: FaultName
  readonly atMs: number
  readonly forMs: number
  /** Chooses one of several variants. */
  readonly way: number
  /** Chooses the target. Both numbers are at least 0 and less than 1. */
  readonly whom: number
}

const shortMsMax = 1000

/**
 * Draws the faults of a run. Some runs have one kind only, so that each kind also occurs alone. About
 * half of the faults are short; the others last as long as a session, or longer.
 */
export function planFaults(random: Random, settings: Settings): PlannedFault[] {
  const { faults, durationMs, client } = settings
  if (faults.length === 0) return []
  const sessionMs = Math.min(client.sessionTimeoutMs ?? defaultSessionMs, durationMs)
  const kinds = random.chance(0.4) ? [random.pick(faults)] : faults
  const countMax = Math.max(2, Math.round(durationMs / 800))
  return Array.from({ length: random.between(1, countMax) }, () => ({
    kind: random.pick(kinds),
    atMs: random.next() * durationMs,
    forMs: random.chance(0.5)
      ? random.between(10, shortMsMax)
      : Math.round(sessionMs * (0.5 + 2 * random.next())),
    way: random.next(),
    whom: random.next(),
  })).toSorted((a, b) => a.atMs - b.atMs)
}

/** The targets of faults. */
export interface Stage {
  readonly cluster: Cluster
  readonly programs: readonly SimulatedProgram[]
  /** Makes the servers end a session of this program. */
  expire(program: SimulatedProgram, whom: number): string | undefined
}

/** Injects a fault. Returns its description, or undefined if it cannot happen now. */
export function inject(stage: Stage, fault: PlannedFault): string | undefined {
  const { whom, forMs } = fault
  const programs = stage.programs.filter(({ isRunning }) => isRunning)
  const program = pick(programs, whom)
  const server = pick(stage.cluster.servers, (whom * 7919) % 1)!
  const forTime = `for ${forMs} ms`
  switch (fault.kind) {
    case 'cut':
      return cut(stage, fault, program, server)
    case 'pause':
      if (fault.way < 0.65 && program !== undefined) {
        program.pause(forMs)
        return `${program.name} pauses ${forTime}`
      }
      return pauseServer(stage, fault, server)
    case 'crash':
      if (fault.way < 0.5 && program !== undefined) {
        const how = fault.way < 0.35 ? 'killed' : 'without power'
        program.crash(how, forMs)
        return `${program.name} ${how === 'killed' ? 'is killed' : 'loses power'}; it starts again in ${forMs} ms`
      }
      return crashServer(stage, fault, server)
    case 'slow':
      return slow(stage, fault, server)
    case 'loseDisk':
      return loseDisk(stage, server, forMs)
    case 'expire':
      return program === undefined ? undefined : stage.expire(program, (whom * 104_729) % 1)
  }
}

type Way = readonly [from: string, to: string]

function cut(
  { cluster }: Stage,
  { way, forMs }: PlannedFault,
  program: SimulatedProgram | undefined,
  server: SimServer,
): string | undefined {
  const names = cluster.servers.map(({ name }) => name)
  const others = names.filter((name) => name !== server.name)
  const forTime = `for ${forMs} ms`
  if (program === undefined || (way < 0.2 && others.length > 0)) {
    if (others.length === 0) return undefined
    block(
      cluster,
      forMs,
      others.flatMap((name): Way[] => [
        [server.name, name],
        [name, server.name],
      ]),
    )
    return `${server.name} and the other servers do not reach each other ${forTime}`
  }
  const { name } = program
  const to = names.map((each): Way => [name, each])
  const from = names.map((each): Way => [each, name])
  if (way < 0.4) {
    program.resetConnections()
    return `the connections of ${name} are reset`
  }
  if (way < 0.5) {
    program.tearConnections()
    return `the connection of ${name} is reset in the middle of the next message`
  }
  if (way < 0.7) {
    block(cluster, forMs, [...to, ...from])
    return `${name} and the servers do not reach each other ${forTime}`
  }
  if (way < 0.8) {
    block(cluster, forMs, from)
    return `nothing from the servers reaches ${name} ${forTime}`
  }
  if (way < 0.9 || others.length === 0) {
    block(cluster, forMs, to)
    return `nothing from ${name} reaches the servers ${forTime}`
  }
  block(
    cluster,
    forMs,
    [...to, ...from].filter((pair) => !pair.includes(server.name)),
  )
  return `${name} reaches only ${server.name} ${forTime}`
}

function block({ network, world }: Cluster, forMs: number, ways: readonly Way[]): void {
  for (const [from, to] of ways) network.block(from, to)
  world.after(forMs, () => {
    for (const [from, to] of ways) network.unblock(from, to)
  })
}

function pauseServer(
  { cluster }: Stage,
  { way, forMs }: PlannedFault,
  one: SimServer,
): string | undefined {
  const server = way > 0.8 ? (leaderOf(cluster) ?? one) : one
  const { process } = server
  if (process?.alive !== true) return undefined
  process.pause()
  cluster.world.after(forMs, () => process.resume())
  return `${server.name} pauses for ${forMs} ms`
}

function crashServer(
  { cluster }: Stage,
  { way, forMs }: PlannedFault,
  one: SimServer,
): string | undefined {
  const server = way > 0.75 ? (leaderOf(cluster) ?? one) : one
  if (server.process?.alive !== true) return undefined
  const isKilled = Math.floor(way * 100) % 2 === 0
  server.crash(isKilled ? 'is killed' : 'power fails')
  server.startLater(forMs)
  return `${server.name} ${isKilled ? 'is killed' : 'loses power'}; it starts again in ${forMs} ms`
}

function slow(
  { cluster }: Stage,
  { way, whom, forMs }: PlannedFault,
  { name, disk }: SimServer,
): string {
  const times = 5 + Math.floor(whom * 45)
  const { network, world } = cluster
  if (way < 0.5) {
    disk.condition.slowness = times
    world.after(forMs, () => (disk.condition.slowness = 1))
    return `the disk of ${name} is ${times} times slower for ${forMs} ms`
  }
  network.slowness = times
  world.after(forMs, () => (network.slowness = 1))
  return `the network is ${times} times slower for ${forMs} ms`
}

/** Only if the others have everything that the server has promised to keep. */
function loseDisk({ cluster }: Stage, server: SimServer, forMs: number): string | undefined {
  const lives = cluster.servers.map(({ life, process }) => process?.alive === true && life)
  emptyOne(cluster, server, forMs)
  const emptied = cluster.servers.find(
    ({ process }, i) => lives[i] !== false && process?.alive !== true,
  )
  if (emptied === undefined) return undefined
  return `${emptied.name} loses its disk; it starts again, empty, in ${forMs} ms`
}

function pick<T>(choices: readonly T[], share: number): T | undefined {
  return choices[Math.floor(share * choices.length)]
}
