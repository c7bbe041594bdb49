import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EnsembleProcesses } from '../../server/test/support/chaos/ensemble-processes.ts'
import { inTemporaryFolder } from '../../server/test/support/server-process.ts'
import { zabraFor, type Zabra } from './support/zabra.ts'

const lockers = 3
const roundsMax = 200
const killsMin = 3

interface Ran {
  readonly overlaps: number
  readonly ran: number
  readonly codes: readonly number[]
}

/** Programs that find out whether another one runs at the same time. */
async function compete(
  zabra: Zabra,
  folder: string,
  words: readonly string[],
  isOver: () => boolean,
): Promise<Ran> {
  mkdirSync(folder)
  const inside = join(folder, 'inside')
  const log = join(folder, 'log')
  writeFileSync(log, '')
  // Two at once would find the folder of the other.
  const script = `mkdir ${inside} || echo overlap >>${log}; sleep 0.05; rmdir ${inside}; echo ran >>${log}`
  const codes: number[] = []
  const locker = async (): Promise<void> => {
    for (let round = 0; round < roundsMax && !isOver(); round++) {
      const { code } = await zabra(...words, '--timeout', '30s', '--', 'sh', '-c', script)
      codes.push(code)
    }
  }
  await Promise.all(Array.from({ length: lockers }, locker))
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  const count = (word: string): number => lines.filter((line) => line === word).length
  return { overlaps: count('overlap'), ran: count('ran'), codes }
}

test('zabra lock never runs two programs at once while servers are killed', async () => {
  await inTemporaryFolder(async (dir) => {
    const cfg = 'tickTime=500\ninitLimit=20\nsyncLimit=10'
    const ensemble = await EnsembleProcesses.open({ dir, servers: 3, cfg, isProxied: true })
    try {
      await ensemble.heal()
      const servers = ensemble.ids.map((id) => `127.0.0.1:${ensemble.clientPort(id)}`).join(',')
      const zabra = zabraFor(servers)
      let isOver = false
      const competing = compete(zabra, join(dir, 'lock'), ['lock', '/lock'], () => isOver)
      let kills = 0
      for (; kills < killsMin; kills++) {
        const leader = await leaderOf(ensemble)
        await ensemble.kill(leader)
        // The others elect a leader, and the lock is taken there.
        await leaderOf(ensemble)
        await zabra('create', `/kill-${kills}`, '--timeout', '30s')
        await ensemble.start(leader)
      }
      isOver = true
      const { overlaps, ran, codes } = await competing
      expect(overlaps).toBe(0)
      expect(ran).toBeGreaterThan(lockers)
      // A command that held the lock to its end exits with 0.
      expect(codes.filter((code) => code === 0)).toHaveLength(ran)

      // The same programs without exclusion: the trial sees it.
      let rounds = 0
      const apart = ['semaphore', '/permits', '--permits', String(lockers)]
      const together = await compete(zabra, join(dir, 'apart'), apart, () => ++rounds > 9 * lockers)
      expect(together.overlaps).toBeGreaterThan(0)
    } finally {
      await ensemble.close(false)
    }
  })
}, 120_000)

async function leaderOf(ensemble: EnsembleProcesses): Promise<number> {
  for (let attempt = 0; attempt < 20_000; attempt++) {
    const leader = await ensemble.leader()
    if (leader !== undefined) return leader
  }
  throw new Error('no leader was elected')
}
