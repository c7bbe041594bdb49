import { useState } from 'preact/hooks'
import { savedFilters } from '../stored-list.ts'
import { filterIn, filterText, queryOf, type ChangeFilter } from './filter.ts'
import { changeKinds, kindText, type ChangeKind } from './change.ts'
import { PointField } from './point-field.tsx'
import { RecentSpans } from './recent-spans.tsx'

interface Props {
  readonly filter: ChangeFilter
  readonly onChange: (filter: ChangeFilter) => void
}

const none: ChangeFilter = {
  path: '',
  isExact: false,
  session: undefined,
  kinds: [],
  from: undefined,
  to: undefined,
}

export function FilterForm({ filter, onChange }: Props) {
  const [path, setPath] = useState(filter.path)
  const [session, setSession] = useState(filter.session ?? '')
  const isFiltered = JSON.stringify({ ...none, ...filter }) !== JSON.stringify(none)
  const key = new URLSearchParams(queryOf(filter)).toString()
  const isSessionRight = session === '' || /^0x[0-9a-f]{1,16}$/i.test(session)
  const now = (): ChangeFilter => ({
    ...filter,
    path: path.trim() === '/' ? '' : path.trim().replace(/(.)\/+$/, '$1'),
    session: session === '' || !isSessionRight ? undefined : session.toLowerCase(),
  })
  const submit = (): void => {
    const next = now()
    if (JSON.stringify(next) !== JSON.stringify(filter)) onChange(next)
  }
  const toggle = (kind: ChangeKind): void => {
    const { kinds } = filter
    const next = kinds.includes(kind) ? kinds.filter((each) => each !== kind) : [...kinds, kind]
    onChange({ ...now(), kinds: changeKinds.filter((each) => next.includes(each)) })
  }
  return (
    <form
      class="filter"
      aria-label="Which changes"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <label class="wide-field">
        Path
        <input
          value={path}
          placeholder="/ and all below it"
          pattern="/.*"
          title="A path begins with /"
          onInput={(event) => setPath(event.currentTarget.value)}
          onChange={(event) => event.currentTarget.checkValidity() && submit()}
        />
      </label>
      <label>
        Session
        <input
          value={session}
          placeholder="0x…"
          aria-invalid={!isSessionRight}
          onInput={(event) => setSession(event.currentTarget.value)}
          onChange={submit}
        />
      </label>
      <PointField
        label="From"
        value={filter.from}
        placeholder="the beginning"
        onChange={(from) => onChange({ ...now(), from })}
      />
      <PointField
        label="To"
        value={filter.to}
        placeholder="now, and live"
        onChange={(to) => onChange({ ...now(), to })}
      />
      <div class="line chips" role="group" aria-label="Kinds of changes">
        {changeKinds.map((kind) => (
          <button
            key={kind}
            type="button"
            class={`chip ${kind}`}
            aria-pressed={filter.kinds.includes(kind)}
            onClick={() => toggle(kind)}
          >
            {kindText[kind]}
          </button>
        ))}
        {filter.path !== '' && (
          <label class="check">
            <input
              type="checkbox"
              checked={filter.isExact}
              onChange={(event) => onChange({ ...now(), isExact: event.currentTarget.checked })}
            />
            only this znode
          </label>
        )}
        <span class="grow" />
        <RecentSpans onChoose={(from) => onChange({ ...now(), from, to: undefined })} />
        {isFiltered && (
          <>
            <button type="button" class="chip" onClick={() => onChange(none)}>
              Clear
            </button>
            <button
              type="button"
              class="chip"
              aria-pressed={savedFilters.has(key)}
              onClick={() => savedFilters.toggle(key)}
            >
              {savedFilters.has(key) ? 'Saved' : 'Save filter'}
            </button>
          </>
        )}
        <button class="hidden">Apply</button>
      </div>
      {savedFilters.items.value.length > 0 && (
        <nav class="saved" aria-label="Saved filters">
          {savedFilters.items.value.map((each) => (
            <a
              key={each}
              href={`#/history?${each}`}
              aria-current={each === key ? 'page' : undefined}
            >
              <span aria-hidden="true">★ </span>
              {filterText(filterIn(new URLSearchParams(each)))}
            </a>
          ))}
        </nav>
      )}
    </form>
  )
}
