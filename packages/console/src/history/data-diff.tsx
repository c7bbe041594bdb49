import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { changedWords, foldedRuns, linePairs, type LinePair, type Segment } from '../diff.ts'
import { bytesText, countText, hexOf, jsonOf, textOf } from '../format.ts'
// oxlint-disable-next-line import/no-unassigned-import -- Vite makes a file of its own of it
import './diff.css'

type Form = 'json' | 'text' | 'hex'
const formNames = { json: 'JSON', text: 'Text', hex: 'Hex' } as const

interface Props {
  readonly before: Uint8Array | undefined
  readonly after: Uint8Array | undefined
  readonly labels: readonly [ComponentChildren, ComponentChildren]
}

/** More of a value is not compared as bytes: a dump of it is five times as long. */
const hexBytesMax = 64 * 1024
/** More lines are shown on request. */
const rowsMax = 2000

const isNarrow = matchMedia('(max-width: 760px)')
const isSplit = signal(!isNarrow.matches)
isNarrow.addEventListener('change', ({ matches }) => (isSplit.value = !matches))

/** Two values side by side, or one below the other, by lines. */
export function DataDiff({ before, after, labels }: Props) {
  const forms = useMemo(() => formsOf(before, after), [before, after])
  const [wanted, setWanted] = useState<Form | undefined>(undefined)
  const form = wanted !== undefined && forms[wanted] !== undefined ? wanted : bestOf(forms)
  const texts = forms[form]!
  const pairs = useMemo(() => linePairs(texts[0], texts[1]), [texts])
  const isCut = form === 'hex' && Math.max(before?.length ?? 0, after?.length ?? 0) > hexBytesMax
  return (
    <div class="data-diff">
      <div class="line">
        <span class="line" role="group" aria-label="Compare as">
          {(['json', 'text', 'hex'] as const).map((each) => (
            <button
              key={each}
              type="button"
              class="chip"
              aria-pressed={each === form}
              disabled={forms[each] === undefined}
              onClick={() => setWanted(each)}
            >
              {formNames[each]}
            </button>
          ))}
        </span>
        <span class="grow muted">{sizesText(before, after)}</span>
        <button type="button" class="chip" onClick={() => (isSplit.value = !isSplit.value)}>
          {isSplit.value ? 'One column' : 'Side by side'}
        </button>
      </div>
      {isCut && (
        <p class="notice">
          Only the first {bytesText(hexBytesMax)} of each are compared here: the values are longer.
        </p>
      )}
      {pairs === undefined ? (
        <Whole texts={texts} labels={labels} />
      ) : (
        <Lines key={form} pairs={pairs} labels={labels} />
      )}
    </div>
  )
}

function sizesText(before: Uint8Array | undefined, after: Uint8Array | undefined): string {
  const [a, b] = [before, after].map((bytes) => bytes && bytesText(bytes.length))
  if (a === undefined || b === undefined) return a ?? b ?? ''
  return a === b ? a : `${a} to ${b}`
}

type Texts = readonly [string | undefined, string | undefined]

/** The forms in which both can be shown. */
function formsOf(
  before: Uint8Array | undefined,
  after: Uint8Array | undefined,
): Readonly<Partial<Record<Form, Texts>>> {
  const both = [before, after] as const
  const as = (show: (bytes: Uint8Array) => string | undefined): Texts | undefined => {
    const texts = both.map((bytes) => (bytes === undefined ? undefined : show(bytes)))
    const isWhole = texts.every((text, at) => text !== undefined || both[at] === undefined)
    return isWhole ? [texts[0], texts[1]] : undefined
  }
  const text = as(textOf)
  const json = as((bytes) => {
    const shown = textOf(bytes)
    // No data is no JSON, but nothing to be compared as bytes for.
    return shown === undefined || shown === '' ? shown : jsonOf(shown)
  })
  const hasJson = json?.some((each) => each !== undefined && each !== '') === true
  return {
    ...(text === undefined ? {} : { text }),
    ...(json === undefined || !hasJson ? {} : { json }),
    hex: as((bytes) => hexOf(bytes.subarray(0, hexBytesMax)))!,
  }
}

function bestOf(forms: Readonly<Partial<Record<Form, Texts>>>): Form {
  const { json, text } = forms
  // The layout would hide a difference in blanks.
  if (json !== undefined && (json[0] !== json[1] || text === undefined)) return 'json'
  return text === undefined ? 'hex' : 'text'
}

/** Two values with hardly a line in common. */
function Whole({ texts, labels }: { readonly texts: Texts; readonly labels: Props['labels'] }) {
  return (
    <>
      <p class="notice">These are too different to be compared by lines: here is each, whole.</p>
      <div class="two">
        {[0, 1].map((side) => (
          <div key={side}>
            <h3>{labels[side]}</h3>
            <pre tabIndex={0}>{texts[side] ?? 'It was not there.'}</pre>
          </div>
        ))}
      </div>
    </>
  )
}

function Lines({
  pairs,
  labels,
}: {
  readonly pairs: readonly LinePair[]
  readonly labels: Props['labels']
}) {
  const runs = useMemo(() => foldedRuns(pairs), [pairs])
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set())
  const [max, setMax] = useState(rowsMax)
  const Row = isSplit.value ? SplitRow : OneColumnRow
  const columns = isSplit.value ? 4 : 3
  let shown = 0
  const body = runs.map((run, at) => {
    if (run.isFolded && !opened.has(at)) {
      return (
        <tr key={at} class="fold">
          <td colSpan={columns}>
            <button type="button" onClick={() => setOpened(new Set(opened).add(at))}>
              {countText(run.pairs.length)} lines that are the same
            </button>
          </td>
        </tr>
      )
    }
    const rows = run.pairs.slice(0, Math.max(0, max - shown))
    shown += run.pairs.length
    return rows.map((pair, i) => <Row key={`${at}.${i}`} pair={pair} />)
  })
  return (
    <div class="scroll diff-box" tabIndex={0} role="region" aria-label="Difference">
      <table class={isSplit.value ? 'diff split' : 'diff'}>
        <colgroup>
          <col class="numbers" />
          {isSplit.value && <col />}
          <col class="numbers" />
          <col />
        </colgroup>
        <thead>
          {isSplit.value ? (
            <tr>
              <th colSpan={2} scope="colgroup">
                {labels[0]}
              </th>
              <th colSpan={2} scope="colgroup">
                {labels[1]}
              </th>
            </tr>
          ) : (
            <tr>
              <th colSpan={3} scope="colgroup">
                <span class="gone-mark">−</span> {labels[0]} <span class="new-mark">+</span>{' '}
                {labels[1]}
              </th>
            </tr>
          )}
        </thead>
        <tbody>{body}</tbody>
      </table>
      {shown > max && (
        <p class="notice">
          {countText(shown - max)} more lines are not shown.{' '}
          <button type="button" onClick={() => setMax(Infinity)}>
            Show all
          </button>
        </p>
      )}
    </div>
  )
}

function SplitRow({ pair }: { readonly pair: LinePair }) {
  const { kind, left, right } = pair
  const [a, b] = wordsOf(pair)
  return (
    <tr class={kind}>
      <td class={left === undefined ? 'n void' : 'n old'}>{left?.number}</td>
      <td class={left === undefined ? 'void' : 'old'}>
        {left !== undefined && <Code mark={kind === 'same' ? '' : '−'} words={a} isOld />}
      </td>
      <td class={right === undefined ? 'n void' : 'n now'}>{right?.number}</td>
      <td class={right === undefined ? 'void' : 'now'}>
        {right !== undefined && <Code mark={kind === 'same' ? '' : '+'} words={b} />}
      </td>
    </tr>
  )
}

function OneColumnRow({ pair }: { readonly pair: LinePair }) {
  const { kind, left, right } = pair
  const [a, b] = wordsOf(pair)
  if (kind === 'same') {
    return (
      <tr class="same">
        <td class="n">{left?.number}</td>
        <td class="n">{right?.number}</td>
        <td>
          <Code mark="" words={a} />
        </td>
      </tr>
    )
  }
  return (
    <>
      {left !== undefined && (
        <tr class={kind}>
          <td class="n old">{left.number}</td>
          <td class="n old" />
          <td class="old">
            <Code mark="−" words={a} isOld />
          </td>
        </tr>
      )}
      {right !== undefined && (
        <tr class={kind}>
          <td class="n now" />
          <td class="n now">{right.number}</td>
          <td class="now">
            <Code mark="+" words={b} />
          </td>
        </tr>
      )}
    </>
  )
}

function wordsOf({
  kind,
  left,
  right,
}: LinePair): readonly [readonly Segment[], readonly Segment[]] {
  if (kind === 'changed' && left !== undefined && right !== undefined) {
    return changedWords(left.text, right.text)
  }
  return [
    [{ text: left?.text ?? '', isChanged: false }],
    [{ text: right?.text ?? '', isChanged: false }],
  ]
}

interface CodeProps {
  readonly mark: '' | '+' | '−'
  readonly words: readonly Segment[]
  readonly isOld?: boolean
}

function Code({ mark, words, isOld = false }: CodeProps) {
  const Mark = isOld ? 'del' : 'ins'
  return (
    <code data-mark={mark}>
      {mark !== '' && <span class="hidden">{mark === '+' ? 'new: ' : 'gone: '}</span>}
      {words.map(({ text, isChanged }, at) => (isChanged ? <Mark key={at}>{text}</Mark> : text))}
    </code>
  )
}
