import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '@zabra/client'
import { Lock } from '@zabra/recipes'
import { simulate, SimulationError, type Scenario } from '@zabra/testing'

/** Workers under a lock; without the test of the token, a worker that stood still overwrites others. */
const workers =
  (isFenced: boolean) =>
  ({ program, check }: Scenario): void => {
    let [value, writes, newest] = [0, 0, 0n]
    program(3, async ({ connectString, signal }) => {
      const client = await connect(connectString, { sessionTimeoutMs: 4000 })
      const lock = new Lock(client, '/lock')
      while (!signal.aborted) {
        const held = await lock.acquire({ signal })
        newest = held.token
        const before = value
        await sleep(20)
        if (!isFenced || held.token === newest) {
          value = before + 1
          writes++
        }
        await held.release()
      }
      await client.close()
    })
    check('no update is lost', () => value === writes)
  }

const { runs } = await simulate({ seeds: 3, faults: ['pause', 'crash'] }, workers(true))
assert.equal(runs, 3)

const found: unknown = await simulate({ seeds: 100, faults: ['pause'] }, workers(false)).catch(
  (error: unknown) => error,
)
assert.ok(found instanceof SimulationError, String(found))
assert.match(found.message, /no update is lost/)
console.log('all well')
