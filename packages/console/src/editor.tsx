import { useMemo, useState } from 'preact/hooks'
import { ApiError, change, getData } from './api.ts'
import { CodeArea } from './code-area.tsx'
import {
  bestForm,
  formsOf,
  pack,
  packingNames,
  packingOf,
  problemOf,
  unpack,
  type Packing,
} from './content.ts'
import { Problem } from './dialog.tsx'
import { textOf } from './format.ts'
import { lazy } from './lazy.tsx'
import { merge } from './merge.ts'
import { announcement } from './state.ts'

const DataDiff = lazy(async () => (await import('./history/data-diff.tsx')).DataDiff)

interface EditorProps {
  readonly path: string
  readonly text: string
  readonly version: number
  /** Applied to the text before it is saved. */
  readonly packing: Packing | undefined
  readonly onEnd: (isSaved: boolean) => void
}

interface Conflict {
  readonly theirs: string | undefined
  readonly version: number
  readonly merged: string | undefined
}

/** Saves over the version that it began with, and over no other. */
export function Editor({ path, text: base, version: first, packing, onEnd }: EditorProps) {
  const [text, setText] = useState(base)
  const [version, setVersion] = useState(first)
  const [conflict, setConflict] = useState<Conflict | undefined>(undefined)
  const [isReviewing, setReviewing] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  // Keep the format that the data had.
  const form = useMemo(() => bestForm(formsOf(bytesOf(base), true)), [base])
  const problem = useMemo(() => problemOf(text, form), [text, form])
  const save = async (over: number): Promise<void> => {
    try {
      await change('PUT', '/data', { path, version: over }, await bodyOf(text, packing))
      announcement.value = `${path} is saved`
      onEnd(true)
    } catch (fault) {
      setError(fault)
      if (!(fault instanceof ApiError) || fault.code !== 'badVersion') return
      try {
        const now = await getData({ path })
        const theirs = await textIn(now.bytes, packing)
        const merged = theirs === undefined ? undefined : merge(base, text, theirs)
        setConflict({ theirs, version: now.version, merged })
      } catch (other) {
        setError(other)
      }
    }
  }
  const isSame = text === base
  const mayNotSave = conflict !== undefined || isSame
  return (
    <form
      class="data"
      onSubmit={(event) => {
        event.preventDefault()
        if (!mayNotSave) void save(version)
      }}
    >
      <CodeArea label={`Data of ${path}`} text={text} form={form} onInput={setText} />
      {problem !== undefined && (
        <p class="notice" role="status">
          {problem}
        </p>
      )}
      {packing !== undefined && (
        <p class="muted">It is packed with {packingNames[packing]} again when it is saved.</p>
      )}
      {conflict === undefined ? (
        <Problem error={error} />
      ) : (
        <ConflictView
          base={base}
          conflict={conflict}
          onMerge={(merged) => {
            setText(merged)
            setVersion(conflict.version)
            setConflict(undefined)
            setError('Both changes are in the text above: look at it, then save')
          }}
          onKeep={() => onEnd(true)}
          onReplace={() => void save(conflict.version)}
        />
      )}
      <div class="line">
        <button
          class={problem === undefined ? 'primary' : 'danger'}
          disabled={mayNotSave}
          title="Ctrl+S"
        >
          Save over version {version}
        </button>
        <button
          type="button"
          aria-pressed={isReviewing}
          disabled={isSame}
          onClick={() => setReviewing(!isReviewing)}
        >
          Review changes
        </button>
        <button type="button" onClick={() => onEnd(false)}>
          Cancel
        </button>
      </div>
      {isReviewing && !isSame && (
        <DataDiff
          before={bytesOf(base)}
          after={bytesOf(text)}
          labels={[`Version ${first}`, 'Yours']}
        />
      )}
    </form>
  )
}

interface ConflictProps {
  readonly base: string
  readonly conflict: Conflict
  readonly onMerge: (merged: string) => void
  readonly onKeep: () => void
  readonly onReplace: () => void
}

function ConflictView({ base, conflict, onMerge, onKeep, onReplace }: ConflictProps) {
  const { theirs, version, merged } = conflict
  return (
    <div class="conflict" role="alert">
      <h3>Somebody else has changed it meanwhile: it is version {version} now</h3>
      {theirs === undefined ? (
        <p>It is not text any more.</p>
      ) : (
        <DataDiff
          before={bytesOf(base)}
          after={bytesOf(theirs)}
          labels={['When you began', 'Theirs, as it is now']}
        />
      )}
      {theirs !== undefined && merged === undefined && (
        <p>Both changed the same lines, so they cannot be merged by themselves.</p>
      )}
      <div class="line">
        {merged !== undefined && (
          <button type="button" onClick={() => onMerge(merged)}>
            Merge both
          </button>
        )}
        <button type="button" onClick={onKeep}>
          Keep theirs
        </button>
        <button type="button" class="danger" onClick={onReplace}>
          Replace theirs with mine
        </button>
      </div>
    </div>
  )
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

async function bodyOf(text: string, packing: Packing | undefined): Promise<object> {
  if (packing === undefined) return { data: text }
  const packed = await pack(bytesOf(text), packing)
  // In parts: a call does not take arguments without limit.
  let binary = ''
  for (let at = 0; at < packed.length; at += 8192) {
    binary += String.fromCharCode(...packed.subarray(at, at + 8192))
  }
  return { data: btoa(binary), encoding: 'base64' }
}

async function textIn(
  bytes: Uint8Array,
  packing: Packing | undefined,
): Promise<string | undefined> {
  if (packing === undefined) return textOf(bytes)
  if (packingOf(bytes) !== packing) return undefined
  const unpacked = await unpack(bytes, packing)
  return unpacked?.isWhole === true ? textOf(unpacked.bytes) : undefined
}
