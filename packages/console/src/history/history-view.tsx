import type { ComponentType } from 'preact'
import { hrefOf, place } from '../state.ts'
import { ChangesView } from './changes-view.tsx'
import { DifferenceView } from './difference-view.tsx'
import { MomentView } from './moment-view.tsx'
import { VersionsView } from './versions-view.tsx'
// oxlint-disable-next-line import/no-unassigned-import -- Vite makes a file of its own of it
import './history.css'

const shows = ['changes', 'versions', 'moment', 'difference'] as const
type Show = (typeof shows)[number]

const titles: Readonly<Record<Show, string>> = {
  changes: 'Changes',
  versions: 'Versions',
  moment: 'Moment',
  difference: 'Difference',
}
const pages: Readonly<Record<Show, ComponentType>> = {
  changes: ChangesView,
  versions: VersionsView,
  moment: MomentView,
  difference: DifferenceView,
}

/** The past: changes, versions of a znode, the tree at a moment, and differences. */
export function HistoryView() {
  const { query } = place.value
  const show = shows.find((each) => each === query.get('show')) ?? 'changes'
  const path = query.get('path')
  const Page = pages[show]
  return (
    <div class="page history">
      <nav class="tabs" aria-label="History">
        {shows.map((each) => (
          <a
            key={each}
            href={hrefOf('history', {
              ...(each === 'changes' ? {} : { show: each }),
              ...(path === null ? {} : { path }),
            })}
            aria-current={each === show ? 'page' : undefined}
          >
            {titles[each]}
          </a>
        ))}
      </nav>
      <Page />
    </div>
  )
}
