import { useState } from 'preact/hooks'
import { ApiError, change, getData, type Data } from './api.ts'
import { Problem } from './dialog.tsx'
import { bytesText, hexOf, jsonOf, textOf } from './format.ts'
import { merge } from './merge.ts'
import { announcement, mayWrite, place } from './state.ts'

type Form = 'text' | 'json' | 'hex'

interface Props {
  readonly path: string
  readonly data: Data
  readonly onWantAll: () => void
  readonly onSaved: () => Promise<void>
}

/** The data of a znode as text, JSON or bytes; it is edited only where the whole of it is text. */
export function DataView({ path, data, onWantAll, onSaved }: Props) {
  const isWhole = data.bytes.length === data.total
  const text = isWhole ? textOf(data.bytes) : textStart(data.bytes)
  const json = isWhole && text !== undefined ? jsonOf(text) : undefined
  const wanted = place.value.query.get('as') as Form | null
  const [form, setForm] = useState<Form | null>(wanted)
  const best: Form = json !== undefined ? 'json' : text !== undefined ? 'text' : 'hex'
  const isPossible =
    form === 'hex' ||
    (form === 'text' && text !== undefined) ||
    (form === 'json' && json !== undefined)
  const shown = form !== null && isPossible ? form : best
  const [edited, setEdited] = useState<{ text: string; base: string; version: number } | undefined>(
    undefined,
  )
  const choose = (to: Form): void => {
    setForm(to)
    const query = new URLSearchParams(place.value.query)
    query.set('as', to)
    history.replaceState(null, '', `#/tree?${query}`)
  }
  if (edited !== undefined) {
    return (
      <Editor
        path={path}
        {...edited}
        onEnd={(isSaved) => {
          setEdited(undefined)
          if (isSaved) void onSaved()
        }}
      />
    )
  }
  const content = shown === 'hex' ? hexOf(data.bytes) : shown === 'json' ? json : text
  return (
    <div class="data">
      <div class="line" role="group" aria-label="Show the data as">
        {(['text', 'json', 'hex'] as const).map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === shown}
            disabled={
              (each === 'text' && text === undefined) || (each === 'json' && json === undefined)
            }
            onClick={() => choose(each)}
          >
            {{ text: 'Text', json: 'JSON', hex: 'Hex' }[each]}
          </button>
        ))}
        <span class="grow" />
        {mayWrite.value && isWhole && text !== undefined && (
          <button
            type="button"
            onClick={() => setEdited({ text, base: text, version: data.version })}
          >
            Edit
          </button>
        )}
      </div>
      {!isWhole && (
        <p class="notice">
          These are the first {bytesText(data.bytes.length)} of {bytesText(data.total)}.{' '}
          <button type="button" onClick={onWantAll}>
            Load all
          </button>
        </p>
      )}
      {data.total === 0 ? (
        <p class="muted">No data.</p>
      ) : (
        <pre tabIndex={0} aria-label="Data">
          {content}
        </pre>
      )}
    </div>
  )
}

/** The first part of a text may end within a character. */
function textStart(bytes: Uint8Array): string | undefined {
  for (let cut = 0; cut < 4; cut++) {
    const text = textOf(bytes.subarray(0, bytes.length - cut))
    if (text !== undefined) return text
  }
  return undefined
}

interface EditorProps {
  readonly path: string
  readonly text: string
  readonly base: string
  readonly version: number
  readonly onEnd: (isSaved: boolean) => void
}

interface Conflict {
  readonly theirs: string | undefined
  readonly version: number
  readonly merged: string | undefined
}

/** Saves over the version that it began with, and over no other. */
function Editor({ path, text: before, base, version: first, onEnd }: EditorProps) {
  const [text, setText] = useState(before)
  const [version, setVersion] = useState(first)
  const [conflict, setConflict] = useState<Conflict | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const save = async (over: number): Promise<void> => {
    try {
      await change('PUT', '/data', { path, version: over }, { data: text })
      announcement.value = `${path} is saved`
      onEnd(true)
    } catch (fault) {
      setError(fault)
      if (!(fault instanceof ApiError) || fault.code !== 'badVersion') return
      try {
        const now = await getData(path)
        const theirs = textOf(now.bytes)
        const merged = theirs === undefined ? undefined : merge(base, text, theirs)
        setConflict({ theirs, version: now.version, merged })
      } catch (other) {
        setError(other)
      }
    }
  }
  return (
    <form
      class="data"
      onSubmit={(event) => {
        event.preventDefault()
        void save(version)
      }}
    >
      <textarea
        aria-label={`Data of ${path}`}
        rows={14}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {conflict === undefined ? (
        <Problem error={error} />
      ) : (
        <div class="conflict" role="alert">
          <h3>Somebody else has changed it meanwhile: it is version {conflict.version} now</h3>
          <pre tabIndex={0} aria-label="The data as it is now">
            {conflict.theirs ?? 'It is not text any more.'}
          </pre>
          <div class="line">
            {conflict.merged !== undefined && (
              <button
                type="button"
                onClick={() => {
                  setText(conflict.merged ?? text)
                  setVersion(conflict.version)
                  setConflict(undefined)
                  setError('Both changes are in the text above: look at it, then save')
                }}
              >
                Merge both
              </button>
            )}
            <button type="button" onClick={() => onEnd(true)}>
              Keep theirs
            </button>
            <button type="button" class="danger" onClick={() => void save(conflict.version)}>
              Replace theirs by mine
            </button>
          </div>
        </div>
      )}
      <div class="line">
        <button class="primary" disabled={conflict !== undefined || text === base}>
          Save over version {version}
        </button>
        <button type="button" onClick={() => onEnd(false)}>
          Cancel
        </button>
      </div>
    </form>
  )
}
