import { Barrier, DoubleBarrier } from '@zabra/recipes'
import type { Stage } from '../stage.ts'
import type { Workload } from '../workload.ts'
import { drawLimits } from './holding.ts'

/** No program passes while the barrier is up, and all pass when it is down. */
export function barrierWorkload(stage: Stage): Workload {
  const path = '/barriers/one'
  return {
    needsAll: true,
    async turn(actor) {
      const { client, chance, process, index, name } = actor
      const barrier = new Barrier(client, path)
      // In the end one program must remove the barrier, whatever state it is in.
      if (stage.isHealed && index === 0) {
        await barrier.lower()
        return
      }
      if (!stage.isHealed && chance.chance(0.5)) {
        await barrier.raise()
        await process.sleep(chance.next() * 300)
        await barrier.lower()
        return
      }
      const before = client.lastZxid
      const limits = drawLimits(actor, stage)
      // The program that removes it in the end does not itself wait for that.
      await barrier.wait(index === 0 ? { timeoutMs: 1000, ...limits } : limits)
      const node = stage.newest(client.lastZxid)?.get(path)
      stage.count(node === undefined ? 'passed, none up' : 'passed between two')
      if (node !== undefined && before > 0n && node.stat.czxid <= before)
        stage.violate(`${name} passes, though ${path} is up since ${node.stat.czxid}`)
    },
    unrest: () => (stage.tree()?.has(path) === true ? `${path} is still up` : undefined),
  }
}

/** All begin together, and none is alone inside. */
export function doubleBarrierWorkload(stage: Stage): Workload {
  const path = '/barriers/double'
  const members = stage.programs
  /** Programs that have asked to enter and have not begun to leave. */
  const around = new Set<string>()
  return {
    needsAll: true,
    async turn(actor) {
      const { client, chance, process, name, life } = actor
      const limits = stage.isHealed ? { signal: stage.ending.signal } : drawLimits(actor, stage)
      const barrier = new DoubleBarrier(client, path, members)
      const self = `${name} in life ${life}`
      around.add(self)
      try {
        const inside = await barrier.enter(limits)
        stage.count('entered together')
        try {
          await process.sleep(chance.next() * 50)
        } finally {
          around.delete(self)
          await inside.leave(limits)
        }
      } finally {
        around.delete(self)
      }
    },
    unrest() {
      const tree = stage.tree()
      if (tree === undefined) return 'no server serves'
      const member = [...tree.keys()].find((node) => node.startsWith(`${path}/_c_`))
      return member === undefined ? undefined : `${member} is left`
    },
    // A program that is alone in the next round ends the last one.
    mayStay: (node) => node === `${path}/ready` || node === path || node === '/barriers',
  }
}
