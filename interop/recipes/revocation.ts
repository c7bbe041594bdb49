import type { Scenario } from './scenario.ts'
import type { Player } from './troupe.ts'

/** The holder is asked to release the lock, and does so. */
export function revocation(holder: Player, asker: Player): Scenario {
  return {
    name: `lock of ${holder}, asked for by ${asker}`,
    cast: [holder, asker],
    async play(stage, path) {
      const holding = await stage.hand(holder, 'holding')
      const asking = await stage.hand(asker, 'asking')
      holding.tell('hold', path)
      await holding.hear('held')
      asking.tell('revoke', path)
      await holding.hear('asked')
      await holding.hear('released')
      await asking.hear('held')
      asking.tell('release')
      await asking.hear('released')
    },
  }
}
