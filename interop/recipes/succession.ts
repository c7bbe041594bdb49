/**
 * A program is killed while it holds something: the next one gets it when the session has ended.
 */
import { untilQueued, type Queue } from './order.ts'
import type { Scenario } from './scenario.ts'
import type { Player } from './troupe.ts'

/** A session of 3 s ends at most a tick later; machines may be slow. */
const inheritedMsMax = 10_000
const sessionMs = 3000

export function succession(queue: Queue, victim: Player, heir: Player): Scenario {
  const { recipe, kindOf } = queue
  return {
    name: `${recipe}, ${heir} after ${victim} is killed`,
    cast: [victim, heir],
    async play(stage, path) {
      const holder = await stage.hand(victim, 'victim')
      const waiter = await stage.hand(heir, 'heir')
      holder.tell('acquire', kindOf(victim), path)
      await holder.hear('held')
      await untilQueued(stage, path, queue, 0)
      waiter.tell('acquire', kindOf(heir), path)
      await untilQueued(stage, path, queue, 1)
      const killedAtNs = process.hrtime.bigint()
      await stage.kill(victim)
      const [heldAtNs = '0'] = await waiter.hear('held')
      const afterMs = Number(BigInt(heldAtNs) - killedAtNs) / 1e6
      waiter.tell('release')
      await waiter.hear('released')
      // The last heartbeat may have been sent a third of the timeout before.
      if (afterMs < sessionMs / 2) throw new Error(`VIOLATION: inherited after ${afterMs} ms`)
      if (afterMs > inheritedMsMax) throw new Error(`inherited after ${afterMs} ms only`)
    },
  }
}
