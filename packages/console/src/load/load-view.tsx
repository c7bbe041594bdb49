import type { ComponentChildren } from 'preact'
import { get } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { bytesText, countOf, countText, lastingText, rateText, timeText } from '../format.ts'
import { usePolled } from '../polled.ts'
import { nameOf, server } from '../servers.ts'
import { go, hrefOf, place } from '../state.ts'
import { Table } from '../table.tsx'
import { Bar } from './bar.tsx'

const limit = 25
const numbers = ['Reads', 'Writes', 'In flight', 'Watches', 'Took']

interface Rates {
  readonly readsPerSecond: number
  readonly writesPerSecond: number
}
interface Client extends Rates {
  readonly session: string
  readonly address: string
  readonly connection: {
    readonly since: string
    readonly requests: number
    readonly outstanding: number
    readonly watches: number
    readonly meanLatencyMs: number
    readonly maxLatencyMs: number
  } | null
}
interface Slow {
  readonly time: string
  readonly tookMs: number
  readonly operation: string | null
  readonly path: string | null
  readonly address: string
  readonly session: string
}
interface Load {
  readonly coveredMs: number
  readonly paths: readonly (Rates & { readonly path: string })[]
  readonly clients: readonly Client[]
  readonly slow: readonly Slow[]
  readonly hidden: number
}

const parts = ['paths', 'clients', 'slow', 'large'] as const
type Part = (typeof parts)[number]
const titles: Readonly<Record<Part, string>> = {
  paths: 'Busiest paths',
  clients: 'Busiest clients',
  slow: 'Slowest requests',
  large: 'Large znodes',
}

/** The paths and clients of the requests of one server, and the large znodes of the tree. */
export function LoadView() {
  const wanted = place.value.query.get('show')
  const shown = parts.find((part) => part === wanted) ?? 'paths'
  return (
    <div class="page">
      <div class="line">
        <h2 class="grow">Load of {nameOf(server.value)}</h2>
        <div class="choices" role="group" aria-label="What to show">
          {parts.map((part) => (
            <button
              key={part}
              type="button"
              aria-pressed={part === shown}
              onClick={() => go('load', { show: part })}
            >
              {titles[part]}
            </button>
          ))}
        </div>
      </div>
      {shown === 'large' ? <LargeZnodes /> : <Requests shown={shown} />}
    </div>
  )
}

function Requests({ shown }: { readonly shown: Exclude<Part, 'large'> }) {
  const { value, error } = usePolled(() => get<Load>('/load', { limit }), 2000, 'load')
  return (
    <>
      <Problem error={error} />
      {value !== undefined && (
        <>
          <p class="muted">
            {shown === 'slow'
              ? 'Requests that took 20 ms or longer'
              : 'Estimates from a sample of the requests'}
            , of the last {lastingText(value.coveredMs)}, on this server only.
            {shown === 'paths' && value.hidden > 0 && ` ${hiddenText(value.hidden, 'path')}`}
          </p>
          {shown === 'paths' && <Paths load={value} />}
          {shown === 'clients' && <Clients load={value} />}
          {shown === 'slow' && <SlowRequests load={value} />}
        </>
      )}
    </>
  )
}

const hiddenText = (count: number, what: string): string =>
  `${countText(count)} ${count === 1 ? `${what} is` : `${what}s are`} hidden from you.`

const sum = ({ readsPerSecond, writesPerSecond }: Rates): number => readsPerSecond + writesPerSecond

function RateCells({ of, most }: { readonly of: Rates; readonly most: number }) {
  const { readsPerSecond, writesPerSecond } = of
  return (
    <>
      <td class="number">{rateText(readsPerSecond)}</td>
      <td class="number">{rateText(writesPerSecond)}</td>
      <td class="bar-cell">
        <Bar values={[readsPerSecond, writesPerSecond]} most={most} />
      </td>
    </>
  )
}

function Key() {
  return (
    <p class="key muted" aria-hidden="true">
      <span class="swatch series-0" /> reads <span class="swatch series-1" /> writes
    </p>
  )
}

function Paths({ load: { paths } }: { readonly load: Load }) {
  if (paths.length === 0) return <Nothing>No requests about a path were seen.</Nothing>
  const most = Math.max(...paths.map(sum))
  return (
    <>
      <Key />
      <Table label="Busiest paths" columns={['Path', 'Reads', 'Writes', 'Share']} numbers={numbers}>
        {paths.map((each) => (
          <tr key={each.path}>
            <th scope="row" class="path">
              <a href={hrefOf('tree', { path: each.path })}>{each.path}</a>
            </th>
            <RateCells of={each} most={most} />
          </tr>
        ))}
      </Table>
    </>
  )
}

function Clients({ load: { clients } }: { readonly load: Load }) {
  if (clients.length === 0) return <Nothing>No requests of clients were seen.</Nothing>
  const most = Math.max(...clients.map(sum))
  const columns = ['Client', 'Reads', 'Writes', 'Share', 'Latency', 'In flight', 'Watches']
  return (
    <>
      <Key />
      <Table label="Busiest clients" columns={columns} numbers={numbers}>
        {clients.map((each) => {
          const { session, address, connection } = each
          return (
            <tr key={`${session} ${address}`}>
              <th scope="row">
                {address}
                <div class="muted">
                  <a href={hrefOf('sessions', { id: session })}>{session}</a>
                </div>
              </th>
              <RateCells of={each} most={most} />
              <td>
                {connection === null
                  ? 'gone'
                  : `${connection.meanLatencyMs} ms, at most ${countText(connection.maxLatencyMs)} ms`}
              </td>
              <td class="number">
                {connection === null ? '–' : countText(connection.outstanding)}
              </td>
              <td class="number">{connection === null ? '–' : countText(connection.watches)}</td>
            </tr>
          )
        })}
      </Table>
    </>
  )
}

function SlowRequests({ load: { slow } }: { readonly load: Load }) {
  if (slow.length === 0) return <Nothing>No request took that long.</Nothing>
  const most = Math.max(...slow.map(({ tookMs }) => tookMs))
  const columns = ['Took', 'Share', 'Request', 'Path', 'Client', 'At (UTC)']
  return (
    <Table label="Slowest requests" columns={columns} numbers={numbers}>
      {slow.map((each, at) => (
        <tr key={at}>
          <th scope="row" class="number">
            {countText(each.tookMs)} ms
          </th>
          <td class="bar-cell">
            <Bar values={[each.tookMs]} most={most} />
          </td>
          <td>{each.operation ?? '–'}</td>
          <td class="path">
            {each.path === null ? (
              <span class="muted">none, or hidden</span>
            ) : (
              <a href={hrefOf('tree', { path: each.path })}>{each.path}</a>
            )}
          </td>
          <td>
            {each.address}
            <div class="muted">
              <a href={hrefOf('sessions', { id: each.session })}>{each.session}</a>
            </div>
          </td>
          <td>{timeText(each.time)}</td>
        </tr>
      ))}
    </Table>
  )
}

interface Large {
  readonly taken: string
  readonly znodes: number
  readonly data: readonly Outstanding[]
  readonly children: readonly Outstanding[]
  readonly versions: readonly Outstanding[]
  readonly hidden: number
}
interface Outstanding {
  readonly path: string
  readonly value: number
}

const largeShown = 15

function LargeZnodes() {
  const { value, error } = usePolled(() => get<Large>('/load/large'), 20_000, 'large')
  return (
    <>
      <Problem error={error} />
      {value === undefined ? (
        error === undefined && <p class="muted">Looking at all znodes.</p>
      ) : (
        <>
          <p class="muted">
            Of {countText(value.znodes)} znodes, as of {timeText(value.taken)} UTC.
            {value.hidden > 0 && ` ${hiddenText(value.hidden, 'znode')}`}
          </p>
          <div class="cards">
            <LargeList title="Most data" of={value.data} text={bytesText} />
            <LargeList title="Most children" of={value.children} text={countText} />
            <LargeList title="Most changes" of={value.versions} text={countText} />
          </div>
        </>
      )}
    </>
  )
}

interface LargeProps {
  readonly title: string
  readonly of: readonly Outstanding[]
  readonly text: (value: number) => string
}

function LargeList({ title, of, text }: LargeProps) {
  const most = of[0]?.value ?? 1
  return (
    <section class="card" aria-label={title}>
      <h3>{title}</h3>
      {of.length === 0 && <p class="muted">none</p>}
      <ol class="ranked">
        {of.slice(0, largeShown).map(({ path, value }) => (
          <li key={path}>
            <a href={hrefOf('tree', { path })}>{path}</a> <strong>{text(value)}</strong>
            <Bar values={[value]} most={most} />
          </li>
        ))}
      </ol>
      {of.length > largeShown && (
        <p class="muted">
          {countOf(of.length - largeShown, 'smaller one is', 'smaller ones are')} not shown.
        </p>
      )}
    </section>
  )
}

function Nothing({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}
