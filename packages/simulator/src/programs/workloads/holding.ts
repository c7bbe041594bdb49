import { ZabraError, type CallOptions } from '@zabra/client'
import { LostError, type Held, type LossPolicy } from '@zabra/recipes'
import { ChangedMind } from '../program.ts'
import type { Stage } from '../stage.ts'
import type { Actor } from '../workload.ts'

const stepsMax = 4

/**
 * Uses what is held for a while, and gives it back. Most stop when they are told to; some do not
 * listen, and go on in the next session as if nothing had happened.
 */
export async function holdFor(
  actor: Actor,
  stage: Stage,
  held: Held,
  lostOn: LossPolicy,
  step: () => Promise<void>,
): Promise<void> {
  const { chance, process } = actor
  const stopWitness = witness(actor, stage, held, lostOn)
  const isCareless = !stage.isHealed && chance.chance(0.3)
  const goesOn = (): boolean => isCareless || !held.signal.aborted
  const stepMsMax = chance.pick([5, 30, 30, stage.isHealed ? 30 : 600])
  try {
    const steps = chance.between(0, stepsMax)
    for (let i = 0; i < steps && goesOn(); i++) {
      await process.sleep(chance.next() * stepMsMax)
      try {
        await step()
      } catch (error) {
        if (!isCareless || !(error instanceof ZabraError)) throw error
      }
    }
  } finally {
    stopWitness()
    await held.release()
  }
}

/** Whoever holds something is told when it may be lost, for a reason, and at once. */
function witness(
  { client, process, name }: Actor,
  stage: Stage,
  held: Held,
  lostOn: LossPolicy,
): () => void {
  held.signal.addEventListener('abort', () => {
    if (!(held.signal.reason instanceof LostError))
      stage.violate(`${name} loses ${held.path} for no reason: ${String(held.signal.reason)}`)
  })
  return client.onState(({ name: state }) => {
    const mustEnd =
      state === 'expired' || state === 'closed' || (state === 'suspended' && lostOn === 'suspended')
    if (!mustEnd) return
    process.defer(() => {
      if (!held.signal.aborted)
        stage.violate(`${name} is ${state}, and is not told that it may have lost ${held.path}`)
    })
  })
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
export function sendLate({ chance }: Actor, stage: Stage, act: () => void): void {
  stage.after(chance.next() * (chance.chance(0.2) ? 2000 : 20), act)
}
