import { useState } from 'preact/hooks'
import { change, get, type Ensemble } from '../api.ts'
import { serverNowMs } from '../clock.ts'
import { Dialog, Problem } from '../dialog.tsx'
import { usePolled } from '../polled.ts'
import { idle, server, servers } from '../servers.ts'
import { announcement, go, hrefOf, isAdmin, place } from '../state.ts'
import { healthOf } from './health.ts'
import { LogView } from './log.tsx'
import { Metrics } from './metrics.tsx'
import { RollingRestart } from './restart.tsx'
import { ServerCard } from './server-card.tsx'
import { Timeline } from './timeline.tsx'

/** The servers, and their logs. */
export function EnsembleView() {
  const isLog = place.value.query.get('show') === 'log'
  return (
    <div class="page">
      <nav class="tabs" aria-label="Ensemble">
        <a href={hrefOf('ensemble')} aria-current={isLog ? undefined : 'page'}>
          Servers
        </a>
        <a href={hrefOf('ensemble', { show: 'log' })} aria-current={isLog ? 'page' : undefined}>
          Log
        </a>
      </nav>
      {isLog ? <LogView /> : <Servers />}
    </div>
  )
}

/** The servers, past leaders, metrics, and the rolling restart. */
function Servers() {
  const { value, error, again } = usePolled(
    () => get<Ensemble>('/ensemble', {}, { origin: (idle.value?.server ?? server.value).origin }),
    2000,
    idle.value?.server.origin ?? '',
  )
  const [isHandingOver, setHandingOver] = useState(false)
  const { query } = place.value
  const beganMs = Date.parse(query.get('restart') ?? '')
  const isRestarting = !Number.isNaN(beganMs)
  return (
    <>
      <Problem error={error} />
      {value !== undefined && (
        <>
          <div class="line">
            <h2 class="grow">{titleOf(value)}</h2>
            {value.mode === 'ensemble' && !isRestarting && (
              <button
                type="button"
                onClick={() =>
                  go('ensemble', {
                    ...Object.fromEntries(query),
                    restart: new Date(serverNowMs()).toISOString(),
                  })
                }
              >
                Rolling restart
              </button>
            )}
            {isAdmin.value && value.leader !== null && originOfLeader(value) !== undefined && (
              <button type="button" onClick={() => setHandingOver(true)}>
                Hand leadership over
              </button>
            )}
          </div>
          {value.mode === 'ensemble' && <Health ensemble={value} />}
          {isRestarting && (
            <RollingRestart
              ensemble={value}
              beganMs={beganMs}
              onHandOver={() => setHandingOver(true)}
            />
          )}
          <div class="cards servers">
            {value.members.map((member) => (
              <ServerCard key={member.id} member={member} />
            ))}
          </div>
          {value.mode === 'ensemble' && <Timeline ensemble={value} />}
          <Metrics ensemble={value} />
        </>
      )}
      {isHandingOver && value !== undefined && (
        <HandOverDialog
          ensemble={value}
          onClose={() => {
            setHandingOver(false)
            again()
          }}
        />
      )}
    </>
  )
}

function Health({ ensemble }: { readonly ensemble: Ensemble }) {
  const { problems, outlook } = healthOf(ensemble)
  return (
    <p class={problems.length > 0 ? 'notice health' : 'health'} role="status">
      <span class={problems.length > 0 ? 'dot unreachable' : 'dot serving'} aria-hidden="true" />
      {problems.length > 0 && <strong>{problems.join(' ')} </strong>}
      {outlook}
    </p>
  )
}

function titleOf({ mode, members, leader }: Ensemble): string {
  if (mode === 'standalone') return 'One server'
  return `${members.length} servers, ${leader === null ? 'no leader' : `server ${leader} leads`}`
}

/** Only the leader can hand over: it is asked wherever this page comes from. */
function originOfLeader({ leader }: Ensemble): string | undefined {
  return servers.value.find(({ id }) => id === leader)?.origin
}

interface DialogProps {
  readonly ensemble: Ensemble
  readonly onClose: () => void
}

function HandOverDialog({ ensemble, onClose }: DialogProps) {
  const [error, setError] = useState<unknown>(undefined)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    try {
      const origin = originOfLeader(ensemble)
      const path = '/ensemble/hand-over'
      const { leader } = await change<{ leader: string }>('POST', path, {}, {}, origin)
      announcement.value = `Server ${leader} leads now`
      onClose()
    } catch (fault) {
      setError(fault)
      setBusy(false)
    }
  }
  return (
    <Dialog title={`Server ${ensemble.leader} hands leadership over`} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <p>
          Another server that is caught up will lead. Writes wait for some milliseconds; sessions
          and their ephemeral znodes stay.
        </p>
        <Problem error={error} />
        <button class="primary" disabled={isBusy}>
          Hand over
        </button>
      </form>
    </Dialog>
  )
}
