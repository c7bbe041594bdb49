import { useRef, useState } from 'preact/hooks'
import { getFrom, type Ensemble, type Sample } from '../api.ts'
import { Chart, type Series } from '../charts/chart.tsx'
import { bytesText, countText, msText, rateText } from '../format.ts'
import { useRepeated } from '../polled.ts'
import { nameOf, server, servers, type Server } from '../servers.ts'
import { go, place } from '../state.ts'
import { Table } from '../table.tsx'

type Name = Exclude<keyof Sample, 'time'>

interface ChartOf {
  readonly title: string
  readonly of: readonly (readonly [name: string, key: Name])[]
  readonly text: (value: number) => string
  readonly isBytes?: true
}

const shareText = (value: number): string => `${Math.round(value * 100)} %`
const bytesRateText = (value: number): string => `${bytesText(Math.round(value))}/s`

/** Where servers are compared, the first of each is shown. */
const charts: readonly ChartOf[] = [
  {
    title: 'Requests',
    of: [
      ['reads', 'readsPerSecond'],
      ['writes', 'writesPerSecond'],
    ],
    text: rateText,
  },
  {
    title: 'Latency of reads',
    of: [
      ['99 %', 'readMsP99'],
      ['mean', 'readMs'],
    ],
    text: msText,
  },
  {
    title: 'Latency of writes',
    of: [
      ['99 %', 'writeMsP99'],
      ['mean', 'writeMs'],
    ],
    text: msText,
  },
  { title: 'Sync of the log', of: [['sync', 'syncMs']], text: msText },
  {
    title: 'Connections and sessions',
    of: [
      ['connections', 'connections'],
      ['sessions', 'sessions'],
    ],
    text: countText,
  },
  { title: 'Requests in flight', of: [['in flight', 'outstanding']], text: countText },
  {
    title: 'Traffic of clients',
    of: [
      ['received', 'receivedPerSecond'],
      ['sent', 'sentPerSecond'],
    ],
    text: bytesRateText,
    isBytes: true,
  },
  { title: 'Event loop busy', of: [['busy', 'busyShare']], text: shareText },
  { title: 'Znodes', of: [['znodes', 'znodes']], text: countText },
  { title: 'Data of znodes', of: [['data', 'dataBytes']], text: bytesText, isBytes: true },
  { title: 'Watches', of: [['watches', 'watches']], text: countText },
  {
    title: 'Memory of the process',
    of: [['memory', 'memoryBytes']],
    text: bytesText,
    isBytes: true,
  },
]

const ranges = { '5 min': 5, '15 min': 15, '1 hour': 60 } as const
const pollMs = 5000
const keptMs = 3_600_000

interface Samples {
  readonly everyMs: number
  readonly samples: readonly Sample[]
}

/** The samples that these servers keep, and new ones as they are taken. */
function useSamples(asked: readonly Server[]): ReadonlyMap<string, readonly Sample[]> {
  const [found, setFound] = useState<ReadonlyMap<string, readonly Sample[]>>(new Map())
  const latest = useRef(found)
  useRepeated(
    async (isCurrent) => {
      const answers = await Promise.all(
        asked.map(async ({ origin }) => {
          const before = latest.current.get(origin) ?? []
          const after = before.at(-1)?.time ?? 0
          const fresh = await getFrom<Samples>(origin, '/metrics', { after }).catch(() => undefined)
          const all = [...before, ...(fresh?.samples ?? [])]
          // By the clock of the server, which the one of this machine need not agree with.
          const from = (all.at(-1)?.time ?? 0) - keptMs
          return [origin, all.filter(({ time }) => time > from)] as const
        }),
      )
      if (isCurrent()) setFound((latest.current = new Map(answers)))
    },
    pollMs,
    asked.map(({ origin }) => origin).join(' '),
  )
  return found
}

/** The last hour of one server, or of all beside each other. */
export function Metrics({ ensemble }: { readonly ensemble: Ensemble }) {
  const { query } = place.value
  const known = servers.value.length > 0 ? servers.value : [server.value]
  const wanted = query.get('metrics')
  const isAll = wanted === 'all' && known.length > 1
  const one = known.find(({ id }) => id === wanted) ?? server.value
  const range = Object.entries(ranges).find(([name]) => name === query.get('range'))?.[1] ?? 60
  const found = useSamples(isAll ? known : [one])
  const show = (name: string, value: string): void => {
    const { from: _, to: __, ...rest } = Object.fromEntries(query)
    go('ensemble', { ...(name === 'range' ? rest : Object.fromEntries(query)), [name]: value })
  }
  const lastMs = Math.max(0, ...[...found.values()].map((samples) => samples.at(-1)?.time ?? 0))
  const firstMs = Math.min(lastMs, ...[...found.values()].map(([first]) => first?.time ?? lastMs))
  const zoomed = zoomIn(query)
  const toMs = zoomed?.toMs ?? lastMs
  const fromMs =
    zoomed?.fromMs ?? Math.max(lastMs - range * 60_000, Math.min(firstMs, lastMs - 60_000))
  const zoom = (part?: { readonly fromMs: number; readonly toMs: number }): void => {
    const { from: _, to: __, ...rest } = Object.fromEntries(query)
    if (part === undefined) return go('ensemble', rest)
    const [from, to] = [Math.max(firstMs, part.fromMs), Math.min(lastMs, part.toMs)]
    const iso = (ms: number): string => new Date(ms).toISOString()
    if (from < to) go('ensemble', { ...rest, from: iso(from), to: iso(to) })
  }
  const shown = (samples: readonly Sample[] = []): readonly Sample[] =>
    samples.filter(({ time }) => time >= fromMs && time <= toMs)
  const seriesOf = ({ of }: ChartOf): readonly Series[] =>
    isAll
      ? known.map(({ id, origin }) => ({
          name: `server ${id}`,
          points: shown(found.get(origin)).map((each) => ({
            time: each.time,
            value: each[of[0]![1]],
          })),
        }))
      : of.map(([name, key]) => ({
          name,
          points: shown(found.get(one.origin)).map((each) => ({
            time: each.time,
            value: each[key],
          })),
        }))
  return (
    <section aria-labelledby="metrics-title" class="stack">
      <div class="line">
        <h2 id="metrics-title" class="grow">
          Metrics {isAll ? 'of all servers' : `of ${nameOf(one)}`}
        </h2>
        {ensemble.mode === 'ensemble' && known.length > 1 && (
          <div class="choices" role="group" aria-label="Metrics of">
            {known.map(({ id = '' }) => (
              <button
                key={id}
                type="button"
                aria-pressed={!isAll && id === one.id}
                onClick={() => show('metrics', id)}
              >
                Server {id}
              </button>
            ))}
            <button type="button" aria-pressed={isAll} onClick={() => show('metrics', 'all')}>
              Compare
            </button>
          </div>
        )}
        {zoomed !== undefined && (
          <button type="button" onClick={() => zoom()}>
            Zoom out
          </button>
        )}
        <div class="choices" role="group" aria-label="Range">
          {Object.entries(ranges).map(([name, minutes]) => (
            <button
              key={name}
              type="button"
              aria-pressed={zoomed === undefined && minutes === range}
              onClick={() => show('range', name)}
            >
              {name}
            </button>
          ))}
        </div>
      </div>
      {lastMs === 0 ? (
        <p class="muted">Each server takes a sample every five seconds; there is none yet.</p>
      ) : (
        <>
          <div class="charts">
            {charts.map((each) => (
              <Chart
                key={each.title}
                title={
                  isAll && each.of.length > 1 ? `${each.title}: ${each.of[0]![0]}` : each.title
                }
                series={seriesOf(each)}
                fromMs={fromMs}
                toMs={toMs}
                gapMs={4 * pollMs}
                text={each.text}
                isBytes={each.isBytes ?? false}
                onZoom={zoom}
              />
            ))}
          </div>
          {!isAll && <AsTable samples={shown(found.get(one.origin))} />}
        </>
      )}
    </section>
  )
}

/** The part of the time that the address names. */
function zoomIn(query: URLSearchParams): { fromMs: number; toMs: number } | undefined {
  const [fromMs, toMs] = ['from', 'to'].map((name) => Date.parse(query.get(name) ?? ''))
  return fromMs! < toMs! ? { fromMs: fromMs!, toMs: toMs! } : undefined
}

const rowsMax = 60

/** The numbers behind the charts, for those who would rather read them. */
function AsTable({ samples }: { readonly samples: readonly Sample[] }) {
  const [isOpen, setOpen] = useState(false)
  const columns = charts.flatMap(({ title, of }) =>
    of.length === 1 ? [title] : of.map(([name]) => `${title}: ${name}`),
  )
  const step = Math.max(1, Math.ceil(samples.length / rowsMax))
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same as a table</summary>
      {isOpen && (
        <Table label="Metrics" columns={['Time (UTC)', ...columns]} numbers={columns}>
          {samples
            .filter((_, at) => (samples.length - 1 - at) % step === 0)
            .toReversed()
            .map((sample) => (
              <tr key={sample.time}>
                <th scope="row">{new Date(sample.time).toISOString().slice(11, 19)}</th>
                {charts.flatMap(({ of, text }) =>
                  of.map(([, key]) => (
                    <td key={key} class="number">
                      {text(sample[key])}
                    </td>
                  )),
                )}
              </tr>
            ))}
        </Table>
      )}
    </details>
  )
}
