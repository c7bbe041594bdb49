import type { CallOptions } from '@zabra/client'
import { LostError, type Held, type LossPolicy } from '@zabra/recipes'
import { ChangedMind } from '../program.ts'
import type { Stage } from '../stage.ts'
import type { Actor } from '../workload.ts'

const holdMsMax = 120
const stepsMax = 4

/** Uses what is held for a while, as long as it is not told to stop, and gives it back. */
export async function holdFor(
  actor: Actor,
  stage: Stage,
  held: Held,
  lostOn: LossPolicy,
  step: () => Promise<void>,
): Promise<void> {
  const { client, chance, process, name } = actor
  const stopListening = client.onState(({ name: state }) => {
    const mustEnd =
      state === 'expired' || state === 'closed' || (state === 'suspended' && lostOn === 'suspended')
    if (mustEnd && !held.signal.aborted)
      process.defer(() => {
        if (!held.signal.aborted)
          stage.violate(`${name} is ${state}, and is not told that it may have lost ${held.path}`)
      })
  })
  held.signal.addEventListener('abort', () => {
    if (!(held.signal.reason instanceof LostError))
      stage.violate(`${name} loses ${held.path} for no reason: ${String(held.signal.reason)}`)
  })
  try {
    const steps = chance.between(0, stepsMax)
    for (let i = 0; i < steps && !held.signal.aborted; i++) {
      await process.sleep((chance.next() * holdMsMax) / stepsMax)
      await step()
    }
  } finally {
    stopListening()
    await held.release()
  }
}

/** A deadline or a signal, or none. After everything has healed everybody waits for their turn. */
export function drawLimits({ chance, process }: Actor, stage: Stage): CallOptions {
  const kind = stage.isHealed
    ? 'none'
    : chance.pick(['none', 'none', 'deadline', 'signal'] as const)
  const ms = chance.between(1, chance.chance(0.5) ? 50 : 1000)
  if (kind === 'none') return {}
  if (kind === 'deadline') return { timeoutMs: ms }
  const controller = new AbortController()
  process.timer(ms, () => controller.abort(new ChangedMind('did not want to wait')))
  return { signal: controller.signal }
}

/** What is sent to somebody outside arrives after a while, whatever becomes of the sender. */
export function sendLate(actor: Actor, stage: Stage, act: () => void): void {
  const { chance } = actor
  stage.after(chance.next() * (chance.chance(0.2) ? 2000 : 20), act)
}
