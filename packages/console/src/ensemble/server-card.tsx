import type { Member } from '../api.ts'
import { bytesText, countText, lastingText, msText } from '../format.ts'
import { switchTo } from '../live.ts'
import { server, servers } from '../servers.ts'
import { isLagging, isSlow } from './health.ts'

const stateTexts = {
  serving: 'serves clients',
  notServing: 'does not serve clients',
  unreachable: 'does not answer',
  unknown: 'no client port is configured',
} as const

const orDash = (value: number | null, text: (value: number) => string = countText): string =>
  value === null ? '–' : text(value)

/** One server: its role, and how it is. */
export function ServerCard({ member }: { readonly member: Member }) {
  const { id, isSelf, addresses, client, state, role, lag, syncMs } = member
  const known = servers.value.find((each) => each.id === id)
  const isUsed = known !== undefined && known.origin === server.value.origin
  const facts: readonly (readonly [string, string, boolean?])[] = [
    ['Epoch', orDash(member.epoch)],
    ['Zxid', member.zxid ?? '–'],
    ['Behind the leader', role === 'leader' ? '–' : orDash(lag), isLagging(member)],
    ['Sync of the log', orDash(syncMs, msText), isSlow(member)],
    ['Latency', latencyText(member)],
    ['Connections', orDash(member.connections)],
    ['In flight', orDash(member.outstanding)],
    ['Watches', orDash(member.watches)],
    ['Znodes', orDash(member.znodes)],
    ['Data', orDash(member.dataBytes, bytesText)],
    ['Disk', orDash(member.diskBytes, bytesText)],
    ['Up', orDash(member.uptimeMs, lastingText)],
  ]
  return (
    <article class={`card server ${state === 'serving' ? '' : 'bad'} ${role ?? ''}`}>
      <header class="line">
        <h3 class="grow">{id === '0' ? 'This server' : `Server ${id}`}</h3>
        <span class="badge role">{role ?? (member.votes ? '–' : 'observer')}</span>
      </header>
      <p class="state">
        <span class={`dot ${state}`} aria-hidden="true" /> {stateTexts[state]}
        <span class="muted"> at {client ?? addresses[0] ?? '–'}</span>
      </p>
      <dl>
        {facts.map(([name, value, stands]) => (
          <div key={name} class={stands === true ? 'stands' : ''}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <footer class="line">
        <span class="muted grow">{versionText(member.version)}</span>
        {isUsed || (isSelf && known === undefined) ? (
          <span class="muted">this page uses it</span>
        ) : (
          known !== undefined &&
          state === 'serving' && (
            <button type="button" onClick={() => switchTo(known)}>
              Use server {id}
            </button>
          )
        )}
      </footer>
    </article>
  )
}

function latencyText({ meanLatencyMs: mean, maxLatencyMs: max }: Member): string {
  if (mean === null) return '–'
  return max === null ? msText(mean) : `${msText(mean)}, at most ${countText(max)} ms`
}

/** Without the hash and the date of a build. */
const versionText = (version: string | null): string => version?.split(/[-,]/, 1)[0] ?? ''
