import { serverNowMs } from '../clock.ts'
import { get, type Ensemble } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { timeText } from '../format.ts'
import { usePolled } from '../polled.ts'
import { go, isAdmin, place } from '../state.ts'
import { planOf, type Advice, type Step } from './restart-plan.ts'

interface Props {
  readonly ensemble: Ensemble
  readonly beganMs: number
  readonly onHandOver: () => void
}

const stateTexts: Readonly<Record<Step['state'], string>> = {
  done: 'restarted',
  now: 'restart now',
  handOver: 'hand over',
  waits: 'later',
  down: 'does not serve',
  unsafe: 'not now',
  unknown: 'unknown',
}

/** Goes with an administrator through a rolling restart, and says when the next server may go. */
export function RollingRestart({ ensemble, beganMs, onHandOver }: Props) {
  const ask = (): Promise<{ servers: readonly Advice[] }> => get('/ensemble/restart')
  const { value, error } = usePolled(ask, 1500, 'restart')
  const starts = new Map(
    ensemble.members.map(({ id, uptimeMs }) => [
      id,
      uptimeMs === null ? undefined : serverNowMs() - uptimeMs,
    ]),
  )
  const steps = planOf(value?.servers ?? [], starts, beganMs)
  const done = steps.filter(({ state }) => state === 'done').length
  const next = steps.find(({ state }) => state === 'now' || state === 'handOver')
  const { restart: _, ...rest } = Object.fromEntries(place.value.query)
  return (
    <section class="card restart" aria-labelledby="restart-title">
      <div class="line">
        <h2 id="restart-title" class="grow">
          Rolling restart
        </h2>
        <button type="button" onClick={() => go('ensemble', rest)}>
          {done === steps.length && steps.length > 0 ? 'Close' : 'Stop'}
        </button>
      </div>
      <p class="muted">
        Since {timeText(new Date(beganMs).toISOString())} UTC. Restart a server yourself when its
        turn comes; this page sees when it is back and caught up. A link to this page shows the
        same.
      </p>
      <Problem error={error} />
      {value !== undefined && (
        <>
          <p class="next" role="status">
            <strong>{summaryOf(steps, done, next)}</strong>
          </p>
          <progress max={steps.length} value={done} aria-label="Servers restarted" />
          <ol class="steps">
            {steps.map(({ id, state, reason }) => (
              <li key={id} class={state}>
                <div>
                  <strong>Server {id}</strong> <span class="badge">{stateTexts[state]}</span>
                  <div class="muted">{reason}</div>
                </div>
                {state === 'handOver' && isAdmin.value && (
                  <button type="button" onClick={onHandOver}>
                    Hand leadership over
                  </button>
                )}
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}

function summaryOf(steps: readonly Step[], done: number, next: Step | undefined): string {
  if (done === steps.length) return 'Every server is restarted.'
  const progress = `${done} of ${steps.length} restarted.`
  if (next?.state === 'now') return `${progress} Server ${next.id} may be restarted now.`
  if (next?.state === 'handOver')
    return `${progress} Server ${next.id} leads: hand leadership over.`
  return `${progress} Wait: no server may be restarted now.`
}
