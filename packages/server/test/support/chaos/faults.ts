import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { EnsembleProcesses } from './ensemble-processes.ts'

/** A temporary fault. `heal` repairs what is still broken afterwards. */
export interface Fault {
  readonly text: string
  readonly run: () => Promise<void>
}

type Maker = (ensemble: EnsembleProcesses, random: Random, victim: number) => Fault

const killed: Maker = (ensemble, random, id) => {
  const awayMs = random.pick([0, 100, 1000, 3000])
  return {
    text: `kill -9 of ${id}, away for ${awayMs} ms`,
    async run() {
      await ensemble.kill(id)
      await delay(awayMs)
      await ensemble.start(id)
    },
  }
}

const killedTwice: Maker = (ensemble, random, id) => {
  const ms = random.between(300, 1500)
  return {
    text: `kill -9 of ${id}, and again ${ms} ms after its start`,
    async run() {
      await ensemble.kill(id)
      const starting = ensemble.start(id)
      await delay(ms)
      await ensemble.kill(id)
      await starting
      await ensemble.start(id)
    },
  }
}

const stopped: Maker = (ensemble, random, id) => {
  const awayMs = random.pick([0, 500, 2000])
  return {
    text: `SIGTERM to ${id}, away for ${awayMs} ms`,
    async run() {
      if (!ensemble.isRunning(id)) return
      const code = await ensemble.stop(id)
      // Another fault may have killed it in the meantime.
      if (code !== 0 && code !== null) throw new Error(`a clean stop of ${id} ended with ${code}`)
      await delay(awayMs)
      await ensemble.start(id)
    },
  }
}

const paused: Maker = (ensemble, random, id) => {
  const ms = random.pick([200, 800, 2500, 5000])
  return {
    text: `SIGSTOP of ${id} for ${ms} ms`,
    async run() {
      ensemble.pause(id)
      await delay(ms)
      ensemble.resume(id)
    },
  }
}

const isolated: Maker = (ensemble, random, id) => {
  const ms = random.pick([500, 2000, 4000])
  const isCut = random.chance(0.5)
  return {
    text: `${isCut ? 'cut' : 'hold'} all links of ${id} to others for ${ms} ms`,
    async run() {
      for (const other of ensemble.ids.filter((each) => each !== id)) {
        if (isCut) for (const proxy of ensemble.between(id, other)) proxy.cut()
        else for (const proxy of ensemble.between(id, other)) holdBoth(proxy)
      }
      await delay(ms)
      mend(ensemble, id)
    },
  }
}

const deafened: Maker = (ensemble, random, id) => {
  const ms = random.pick([500, 2000, 4000])
  const isDeaf = random.chance(0.5)
  return {
    text: `${id} ${isDeaf ? 'hears' : 'is heard by'} nobody for ${ms} ms`,
    async run() {
      for (const other of ensemble.ids.filter((each) => each !== id)) {
        if (isDeaf) ensemble.holdFrom(other, id)
        else ensemble.holdFrom(id, other)
      }
      await delay(ms)
      mend(ensemble, id)
    },
  }
}

const cutFromOne: Maker = (ensemble, random, id) => {
  const other = random.pick(ensemble.ids.filter((each) => each !== id))
  const ms = random.pick([500, 2000, 4000])
  return {
    text: `cut between ${id} and ${other} for ${ms} ms`,
    async run() {
      for (const proxy of ensemble.between(id, other)) proxy.cut()
      await delay(ms)
      for (const proxy of ensemble.between(id, other)) proxy.heal()
    },
  }
}

const slowed: Maker = (ensemble, random, id) => {
  const delayMs = random.pick([20, 100, 400])
  const ms = random.pick([1000, 3000])
  return {
    text: `links of ${id} ${delayMs} ms slower for ${ms} ms`,
    async run() {
      slowDown(ensemble, id, delayMs)
      await delay(ms)
      mend(ensemble, id)
    },
  }
}

const reset: Maker = (ensemble, random, id) => ({
  text: `reset of all links of ${id}, a few times`,
  async run() {
    for (let i = 0; i < random.between(1, 4); i++) {
      for (const other of ensemble.ids.filter((each) => each !== id)) {
        for (const proxy of ensemble.between(id, other)) proxy.reset()
      }
      await delay(random.between(20, 400))
    }
  },
})

const clientsCut: Maker = (ensemble, random, id) => {
  const ms = random.pick([0, 300, 2000])
  return {
    text: `clients of ${id} cut off for ${ms} ms`,
    async run() {
      ensemble.clientLink(id).cut()
      await delay(ms)
      ensemble.clientLink(id).heal()
    },
  }
}

/** All at once: only the disks survive. */
const allKilled: Maker = (ensemble) => ({
  text: 'kill -9 of all servers',
  async run() {
    await Promise.all(ensemble.ids.map((id) => ensemble.kill(id)))
    await Promise.all(ensemble.ids.map((id) => ensemble.start(id)))
  },
})

/** How often each fault is drawn, relative to the others. */
const weights = new Map<Maker, number>([
  [killed, 3],
  [killedTwice, 1],
  [stopped, 2],
  [paused, 3],
  [isolated, 4],
  [deafened, 3],
  [cutFromOne, 1],
  [slowed, 2],
  [reset, 1],
  [clientsCut, 1],
  [allKilled, 1],
])
const makers = [...weights].flatMap(([maker, weight]) => Array<Maker>(weight).fill(maker))

/**
 * Draws one to three faults that overlap. The leader is a victim more often than others. Often one
 * server stays a little behind the whole time, so that the faults hit during synchronization.
 */
export function drawFaults(
  ensemble: EnsembleProcesses,
  random: Random,
  leader: number | undefined,
): Fault[] {
  const laggard = random.pick(ensemble.ids)
  if (random.chance(0.6)) slowDown(ensemble, laggard, random.between(10, 150))
  return Array.from({ length: random.pick([1, 1, 2, 3]) }, () => {
    const anybody = random.pick(ensemble.ids)
    const victim = random.chance(0.5) ? (leader ?? anybody) : anybody
    const fault = random.pick(makers)(ensemble, random, victim)
    const mark = victim === leader ? ' (the leader)' : ''
    const startMs = random.between(0, 1500)
    return {
      text: `${fault.text}${mark}`,
      async run() {
        await delay(startMs)
        await fault.run()
      },
    }
  })
}

/**
 * A server comes back with an empty disk. This happens only while all others are up to date: a
 * server that forgets what it acknowledged breaks an assumption of Zab.
 */
export function lostDisk(ensemble: EnsembleProcesses, id: number): Fault {
  return {
    text: `the disk of ${id} is lost`,
    async run() {
      await ensemble.kill(id)
      // All the others serve: they have everything that the lost one helped to acknowledge.
      const others = ensemble.ids.filter((each) => each !== id)
      if (await untilServing(ensemble, others)) ensemble.loseDisk(id)
      await ensemble.start(id)
    },
  }
}

/**
 * The leader logs proposals that no quorum receives, and dies. The others elect a new leader; when
 * the old one returns, it must discard those proposals.
 */
export function lonelyLeader(ensemble: EnsembleProcesses, random: Random, leader: number): Fault {
  const others = ensemble.ids.filter((id) => id !== leader)
  // In an ensemble of five, one more server may receive them: two are still no quorum.
  const company = others.length > 2 && random.chance(0.5) ? [random.pick(others)] : []
  const lonely = [leader, ...company]
  const deaf = others.filter((id) => !company.includes(id))
  // If nothing new is written in the meantime, its log is truncated; otherwise it gets a snapshot.
  const isQuiet = random.chance(0.75)
  const ms = random.between(150, 700)
  return {
    text: `only ${lonely.join(' and ')} log for ${ms} ms, and die${isQuiet ? '' : '; load goes on'}`,
    async run() {
      for (const id of deaf) ensemble.holdFrom(leader, id)
      await delay(ms)
      if (isQuiet) for (const id of ensemble.ids) ensemble.clientLink(id).cut()
      await Promise.all(lonely.map((id) => ensemble.kill(id)))
      // Everything in transit is lost, and the others wait for each other until the old leader is
      // back, so it finds a leader that has just been elected.
      for (const id of deaf) for (const proxy of linksOf(ensemble, id)) proxy.cut()
      await Promise.all(lonely.map((id) => ensemble.start(id)))
      for (const id of deaf) for (const proxy of linksOf(ensemble, id, deaf)) proxy.heal()
      await untilServing(ensemble, deaf)
      for (const id of lonely) for (const proxy of linksOf(ensemble, id)) proxy.heal()
      await untilServing(ensemble, ensemble.ids)
      for (const id of ensemble.ids) ensemble.clientLink(id).heal()
    },
  }
}

/**
 * A leader sleeps until it is replaced, and wakes up without knowing. Clients that have seen later
 * transactions connect to it: it must not serve them.
 */
export function staleLeader(ensemble: EnsembleProcesses, random: Random, leader: number): Fault {
  const others = ensemble.ids.filter((id) => id !== leader)
  const ms = random.between(500, 1500)
  return {
    text: `${leader} sleeps until it is replaced, and hears nothing for ${ms} ms after that`,
    async run() {
      for (const proxy of linksOf(ensemble, leader)) holdBoth(proxy)
      ensemble.pause(leader)
      await untilServing(ensemble, others)
      await delay(random.between(300, 800))
      ensemble.attraction = leader
      ensemble.resume(leader)
      await delay(ms)
      ensemble.attraction = undefined
      mend(ensemble, leader)
    },
  }
}

/** Waits until they have a leader among them and all serve; throws if that takes too long. */
async function untilServing(ensemble: EnsembleProcesses, ids: readonly number[]): Promise<boolean> {
  const untilMs = performance.now() + 10_000
  while (performance.now() < untilMs) {
    const modes = await Promise.all(ids.map((id) => ensemble.mode(id)))
    if (modes.includes('leader') && modes.every((mode) => mode !== undefined)) return true
    await delay(30)
  }
  return false
}

function linksOf(
  ensemble: EnsembleProcesses,
  id: number,
  others: readonly number[] = ensemble.ids,
): ReturnType<EnsembleProcesses['between']> {
  return others.filter((other) => other !== id).flatMap((other) => ensemble.between(id, other))
}

function slowDown(ensemble: EnsembleProcesses, id: number, delayMs: number): void {
  for (const other of ensemble.ids.filter((each) => each !== id)) {
    for (const proxy of ensemble.between(id, other)) proxy.slow(delayMs)
  }
}

function holdBoth(proxy: { hold(direction: 'up' | 'down'): void }): void {
  proxy.hold('up')
  proxy.hold('down')
}

function mend(ensemble: EnsembleProcesses, id: number): void {
  for (const other of ensemble.ids.filter((each) => each !== id)) {
    for (const proxy of ensemble.between(id, other)) proxy.heal()
  }
}
