import { useEffect, useState } from 'preact/hooks'
import { change, get, type Ensemble, type Member, type Sample } from './api.ts'
import { Chart } from './chart.tsx'
import { Problem } from './dialog.tsx'
import { countText } from './format.ts'
import { usePolled } from './polled.ts'
import { announcement, generation, isAdmin, sampleListeners } from './state.ts'

const stateTexts = {
  serving: 'serves',
  notServing: 'does not serve',
  unreachable: 'not reachable',
  unknown: 'no client port is configured',
} as const

export function EnsembleView() {
  const { value, error, again } = usePolled(() => get<Ensemble>('/ensemble'), 2000, 'ensemble')
  const [problem, setProblem] = useState<unknown>(undefined)
  const handOver = async (): Promise<void> => {
    try {
      const { leader } = await change<{ leader: string }>('POST', '/ensemble/hand-over', {}, {})
      announcement.value = `Server ${leader} leads now`
      setProblem(undefined)
    } catch (fault) {
      setProblem(fault)
    }
    again()
  }
  return (
    <div class="page">
      <Problem error={error ?? problem} />
      {value !== undefined && (
        <>
          <div class="line">
            <h2 class="grow">
              {value.mode === 'standalone'
                ? 'One server'
                : `${value.members.length} servers, ${
                    value.leader === null ? 'no leader' : `server ${value.leader} leads`
                  }`}
            </h2>
            {isAdmin.value && value.leader === value.self && value.mode === 'ensemble' && (
              <button type="button" onClick={() => void handOver()}>
                Hand leadership over
              </button>
            )}
          </div>
          <div class="scroll" tabIndex={0} role="region" aria-label="Servers">
            <table>
              <thead>
                <tr>
                  {[
                    'Server',
                    'Role',
                    'State',
                    'Epoch',
                    'Zxid',
                    'Behind',
                    'Clients',
                    'Latency',
                    'Sync',
                    'Znodes',
                  ].map((name) => (
                    <th key={name} scope="col">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {value.members.map((member) => (
                  <MemberRow key={member.id} member={member} />
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
      <Charts />
    </div>
  )
}

const orDash = (value: number | null, unit = ''): string =>
  value === null ? '–' : `${countText(value)}${unit}`

function MemberRow({ member }: { readonly member: Member }) {
  const { id, isSelf, addresses, client } = member
  return (
    <tr class={member.state === 'unreachable' ? 'bad' : ''}>
      <th scope="row">
        {id === '0' ? 'this server' : `${id}${isSelf ? ' (this one)' : ''}`}
        <div class="muted">{client ?? addresses[0] ?? ''}</div>
      </th>
      <td>{member.role ?? (member.votes ? '–' : 'observer')}</td>
      <td>{stateTexts[member.state]}</td>
      <td>{orDash(member.epoch)}</td>
      <td>
        <code>{member.zxid ?? '–'}</code>
      </td>
      <td>{orDash(member.lag)}</td>
      <td>{orDash(member.connections)}</td>
      <td>{orDash(member.meanLatencyMs, ' ms')}</td>
      <td>{orDash(member.syncMs, ' ms')}</td>
      <td>{orDash(member.znodes)}</td>
    </tr>
  )
}

const samplesMax = 720

function Charts() {
  const [samples, setSamples] = useState<readonly Sample[]>([])
  const connection = generation.value
  useEffect(() => {
    get<{ samples: Sample[] }>('/metrics').then(
      (found) => setSamples(found.samples),
      () => {},
    )
    const add = (sample: Sample): void =>
      setSamples((before) => [...before.slice(1 - samplesMax), sample])
    sampleListeners.add(add)
    return () => void sampleListeners.delete(add)
  }, [connection])
  return (
    <section class="charts" aria-label="The last hour of this server">
      <Chart
        title="Requests"
        unit="/s"
        samples={samples}
        of={[['requests', 'requestsPerSecond']]}
      />
      <Chart
        title="Latency"
        unit="ms"
        samples={samples}
        of={[
          ['reads', 'readMs'],
          ['writes', 'writeMs'],
        ]}
      />
      <Chart title="Sync of the log" unit="ms" samples={samples} of={[['sync', 'syncMs']]} />
      <Chart title="Clients" unit="" samples={samples} of={[['clients', 'connections']]} />
    </section>
  )
}
