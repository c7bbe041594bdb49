import { serverNowMs } from '../clock.ts'

const spans = [
  ['15 min', 15 * 60_000],
  ['1 h', 3_600_000],
  ['24 h', 86_400_000],
  ['7 days', 7 * 86_400_000],
] as const

/** The times that are asked for most: from some time ago on. */
export function RecentSpans({ onChoose }: { readonly onChoose: (from: string) => void }) {
  return (
    <span class="line" role="group" aria-label="Time range">
      {spans.map(([name, ms]) => (
        <button
          key={name}
          type="button"
          class="chip"
          onClick={() => onChoose(new Date(serverNowMs() - ms).toISOString())}
        >
          Last {name}
        </button>
      ))}
    </span>
  )
}
