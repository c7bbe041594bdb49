import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Data } from './api.ts'
import {
  bestForm,
  formsOf,
  packingNames,
  packingOf,
  tokensOf,
  unpack,
  unpackedBytesMax,
  type Form,
  type Packing,
  type Unpacked,
} from './content.ts'
import { Editor } from './editor.tsx'
import { bytesText, hexOf } from './format.ts'
import { knownFormat } from './known-formats.ts'
import { nameOf } from './paths.ts'
import { amend, mayWrite, place } from './state.ts'
import { Tokens } from './tokens.tsx'

const formNames = { text: 'Text', json: 'JSON', yaml: 'YAML', hex: 'Hex' } as const
/** A dump is five times as long as what it shows. */
const hexBytesMax = 256 * 1024

/** More of a value is only loaded when it is asked for. */
export const firstBytes = 64 * 1024

interface Props {
  readonly path: string
  readonly data: Data
  readonly onWantAll: () => void
  /** Undefined for data that cannot be edited, such as that of the past. */
  readonly onSaved?: () => Promise<void>
}

/** The data of a znode; it is edited only where the whole of it is text. */
export function DataView({ path, data, onWantAll, onSaved }: Props) {
  const isWhole = data.bytes.length === data.total
  const packing = isWhole ? packingOf(data.bytes) : undefined
  const unpacked = useUnpacked(data.bytes, packing)
  const [isAsStored, setAsStored] = useState(false)
  const [edited, setEdited] = useState<{ text: string; version: number } | undefined>(undefined)
  const inside = isAsStored ? undefined : unpacked
  const bytes = inside?.bytes ?? data.bytes
  const isAll = isWhole && inside?.isWhole !== false
  const { text } = useMemo(() => formsOf(bytes, isAll), [bytes, isAll])
  if (edited !== undefined && onSaved !== undefined) {
    return (
      <Editor
        path={path}
        text={edited.text}
        version={edited.version}
        packing={inside === undefined ? undefined : packing}
        onEnd={(isSaved) => {
          setEdited(undefined)
          if (isSaved) void onSaved()
        }}
      />
    )
  }
  const mayEdit = onSaved !== undefined && mayWrite.value && isAll && text !== undefined
  return (
    <DataShow
      path={path}
      bytes={bytes}
      isWhole={isAll}
      actions={
        <>
          {packing !== undefined && unpacked !== undefined && (
            <button
              type="button"
              aria-pressed={isAsStored}
              onClick={() => setAsStored(!isAsStored)}
            >
              As stored
            </button>
          )}
          {data.total > 0 && isWhole && (
            <button type="button" onClick={() => saveAsFile(path, data.bytes)}>
              Save as file
            </button>
          )}
          {mayEdit && (
            <button type="button" onClick={() => setEdited({ text, version: data.version })}>
              Edit
            </button>
          )}
        </>
      }
    >
      {!isWhole && (
        <p class="notice">
          These are the first {bytesText(data.bytes.length)} of {bytesText(data.total)}.{' '}
          <button type="button" onClick={onWantAll}>
            Load all
          </button>
        </p>
      )}
      {packing !== undefined && inside !== undefined && (
        <p class="muted">
          {packingNames[packing]}, {bytesText(data.total)}, unpacked to{' '}
          {inside.isWhole
            ? bytesText(inside.bytes.length)
            : `more than ${bytesText(unpackedBytesMax)}, of which this is the beginning`}
          .
        </p>
      )}
    </DataShow>
  )
}

/** The unpacked data; undefined until it is known, and for data that is not packed. */
function useUnpacked(bytes: Uint8Array, packing: Packing | undefined): Unpacked | undefined {
  const [unpacked, setUnpacked] = useState<{ of: Uint8Array; value: Unpacked | undefined }>()
  useEffect(() => {
    if (packing === undefined) return
    let isHere = true
    void unpack(bytes, packing).then((value) => isHere && setUnpacked({ of: bytes, value }))
    return () => void (isHere = false)
  }, [bytes, packing])
  return unpacked?.of === bytes ? unpacked.value : undefined
}

/** Offers the bytes as a download. */
function saveAsFile(path: string, bytes: Uint8Array): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>]))
  link.download = nameOf(path) || 'root'
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}

interface ShowProps {
  readonly path: string
  readonly bytes: Uint8Array
  readonly isWhole: boolean
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}

/** A value as text, JSON, YAML or bytes, with a description if a well-known program wrote it. */
function DataShow({ path, bytes, isWhole, actions, children }: ShowProps) {
  const forms = useMemo(() => formsOf(bytes, isWhole), [bytes, isWhole])
  const [wanted, setWanted] = useState(place.value.query.get('as') as Form | null)
  const [hexMax, setHexMax] = useState(hexBytesMax)
  const isPossible = (form: Form): boolean => form === 'hex' || forms[form] !== undefined
  const form =
    wanted !== null && wanted in formNames && isPossible(wanted) ? wanted : bestForm(forms)
  const choose = (to: Form): void => {
    setWanted(to)
    const query = new URLSearchParams(place.value.query)
    query.set('as', to)
    amend(place.value.view, Object.fromEntries(query))
  }
  const isDumpCut = form === 'hex' && bytes.length > hexMax
  const content = form === 'hex' ? hexOf(bytes.subarray(0, hexMax)) : forms[form]!
  return (
    <div class="data">
      <div class="line" role="group" aria-label="Show the data as">
        {(['text', 'json', 'yaml', 'hex'] as const).map(
          (each) =>
            (each !== 'yaml' || isPossible(each)) && (
              <button
                key={each}
                type="button"
                aria-pressed={each === form}
                disabled={!isPossible(each)}
                onClick={() => choose(each)}
              >
                {formNames[each]}
              </button>
            ),
        )}
        <span class="grow" />
        {actions}
      </div>
      {children}
      {isWhole && forms.text !== undefined && <KnownFormat path={path} text={forms.text} />}
      {isDumpCut && (
        <p class="notice">
          This is the dump of the first {bytesText(hexMax)} of {bytesText(bytes.length)}.{' '}
          <button type="button" onClick={() => setHexMax(Infinity)}>
            Dump all
          </button>
        </p>
      )}
      {bytes.length === 0 ? (
        <p class="muted">No data.</p>
      ) : (
        <pre tabIndex={0} aria-label="Data">
          <Tokens tokens={tokensOf(content, form)} />
        </pre>
      )}
    </div>
  )
}

function KnownFormat({ path, text }: { readonly path: string; readonly text: string }) {
  const known = useMemo(() => knownFormat(path, text), [path, text])
  if (known === undefined) return null
  return (
    <section class="known" aria-label={known.title}>
      <h3>{known.title}</h3>
      <dl>
        {known.facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
