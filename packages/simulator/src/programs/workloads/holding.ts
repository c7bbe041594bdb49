import { isRefusal, ZabraError, type CallOptions } from '@zabra/client'
import { LostError, type Held, type LossPolicy } from '@zabra/recipes'
import { ChangedMind } from '../program.ts'
import type { Stage } from '../stage.ts'
import type { Actor } from '../workload.ts'

const stepsMax = 4

/** Uses what is held for a while, and releases it. */
export async function holdFor(
  actor: Actor,
  stage: Stage,
  held: Held,
  lostOn: LossPolicy,
  step: () => Promise<void>,
): Promise<void> {
  try {
    await workUnder(actor, stage, held, lostOn, step)
  } finally {
    await held.release()
  }
}

/**
 * Uses what is held until this signal aborts. Most programs stop then; some ignore the signal, and
 * continue in the next session as if nothing had happened.
 */
export async function workUnder(
  actor: Actor,
  stage: Stage,
  { path, signal }: Pick<Held, 'path' | 'signal'>,
  lostOn: LossPolicy,
  step: () => Promise<void>,
): Promise<void> {
  const { chance, process } = actor
  const stopWitness = witness(actor, stage, path, signal, lostOn)
  const isCareless = !stage.isHealed && chance.chance(0.3)
  const goesOn = (): boolean => isCareless || !signal.aborted
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
  }
}

/** A holder must be notified when the right may be lost, with a reason, and at once. */
function witness(
  { client, process, name }: Actor,
  stage: Stage,
  path: string,
  signal: AbortSignal,
  lostOn: LossPolicy,
): () => void {
  signal.addEventListener('abort', () => {
    const { reason } = signal
    if (!(reason instanceof LostError) && !(reason instanceof ChangedMind))
      stage.violate(`${name} loses ${path} for no reason: ${String(reason)}`)
  })
  return client.onState(({ name: state }) => {
    const mustEnd =
      state === 'expired' || state === 'closed' || (state === 'suspended' && lostOn === 'suspended')
    if (!mustEnd) return
    process.defer(() => {
      if (!signal.aborted)
        stage.violate(`${name} is ${state}, and is not told that it may have lost ${path}`)
    })
  })
}

/**
 * A deadline, a signal, or neither. After everything is healed, all programs wait without limit.
 */
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

/** An outsider deletes the node of the first contender. */
export async function deleteFirst(
  { client, name }: Actor,
  stage: Stage,
  path: string,
): Promise<void> {
  const children = await client.children(path).catch((error: unknown) => {
    if (isRefusal(error, 'noNode')) return []
    throw error
  })
  const first = children
    .filter((child) => !child.startsWith('holder-'))
    .toSorted((a, b) => (a.slice(-10) < b.slice(-10) ? -1 : 1))[0]
  if (first === undefined) return
  stage.trace(`${name} deletes ${path}/${first}`)
  stage.count('nodes deleted from outside')
  await client.delete(`${path}/${first}`).catch((error: unknown) => {
    if (!isRefusal(error, 'noNode')) throw error
  })
}

/** Why a path cannot be clean yet: a session still has a node below it. */
export function leftBelow(stage: Stage, path: string): string | undefined {
  const tree = stage.tree()
  if (tree === undefined) return 'no server serves'
  const inside = [...tree].filter(([node]) => node.startsWith(`${path}/`))
  // Containers in it stay a little longer.
  const left = inside.find(([, { stat }]) => stat.ephemeralOwner !== 0n)
  return left && `${left[0]} is left`
}

/** A message to an outsider arrives after a while, even if the sender has died. */
export function sendLate({ chance }: Actor, stage: Stage, act: () => void): void {
  stage.after(chance.next() * (chance.chance(0.2) ? 2000 : 20), act)
}
