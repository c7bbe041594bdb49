import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../api.ts'
import { Problem } from '../dialog.tsx'
import { bytesText, countText } from '../format.ts'
import { changeListeners, generation, go, hrefOf, mayRead, mayWrite, place } from '../state.ts'
import { detailText } from './change-line.tsx'
import { byText, learnClients } from './clients-elsewhere.ts'
import { momentOf } from './links.ts'
import { chosenOf, verbOf, type PastChange } from './change.ts'
import { PathForm } from './path-form.tsx'
import { zxidBefore } from './points.ts'
import { RestoreDialog } from './restore-dialog.tsx'
import { stateAt, type State } from './state.ts'
import { StateDiff } from './state-diff.tsx'
import { UndeleteDialog } from './undelete-dialog.tsx'
import { loadVersions, type Versions } from './versions.ts'

/** Longer values are loaded on request. */
const unaskedBytesMax = 256 * 1024

/** The versions of a znode, two of them side by side; one can be restored. */
export function VersionsView() {
  const { query } = place.value
  const path = query.get('path') ?? ''
  return (
    <>
      <form class="filter" onSubmit={(event) => event.preventDefault()}>
        <PathForm
          label="Znode"
          path={path}
          onChange={(to) => go('history', { show: 'versions', path: to })}
        />
      </form>
      {path === '' ? (
        <p class="muted">
          Type the path of a znode, or choose Versions beside one in the{' '}
          <a href={hrefOf('tree')}>tree</a> or in the changes.
        </p>
      ) : (
        <VersionsOf key={path} path={path} />
      )}
    </>
  )
}

function VersionsOf({ path }: { readonly path: string }) {
  const [versions, setVersions] = useState<Versions | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [isLoading, setLoading] = useState(false)
  const { query } = place.value
  const load = async (known?: Versions): Promise<void> => {
    setLoading(true)
    try {
      const found = await loadVersions(path, known)
      setVersions(found)
      void learnClients(found.list)
      setError(undefined)
    } catch (fault) {
      setError(fault)
    }
    setLoading(false)
  }
  const connection = generation.value
  useEffect(() => {
    void load()
    const listener = (
      changes: readonly { readonly path: string }[],
      isTruncated: boolean,
    ): void => {
      // The history has it when it is on the disk of the server.
      const isOurs = isTruncated || changes.some((each) => each.path === path)
      if (isOurs) setTimeout(() => void load(), 300)
    }
    changeListeners.add(listener)
    return () => void changeListeners.delete(listener)
  }, [path, connection])
  if (versions === undefined) {
    return error === undefined ? <p class="muted">Loading</p> : <Problem error={error} />
  }
  const { list, next } = versions
  if (list.length === 0) {
    return (
      <p class="muted">
        The history of this server has no change of {path} that you may see: it is older than the
        history, or was never there.
      </p>
    )
  }
  const { newer, older } = chosenOf(list, query.get('new'), query.get('old'))
  const choose = (now: number, then: number): void => {
    const [newest, oldest] = [list[now], list[then]]
    go('history', {
      show: 'versions',
      path,
      ...(newest === undefined ? {} : { new: newest.zxid }),
      ...(oldest === undefined || then === now + 1 ? {} : { old: oldest.zxid }),
    })
  }
  return (
    <div class="versions">
      <section class="version-list" aria-label={`Versions of ${path}`}>
        <Problem error={error} />
        <ol>
          {list.map((version, at) => (
            <li key={version.zxid} class={at === newer ? 'is-new' : at === older ? 'is-old' : ''}>
              <input
                type="radio"
                name="old"
                aria-label={`Compare from ${nameOf(version)}`}
                checked={at === older}
                disabled={at <= newer}
                onChange={() => choose(newer, at)}
              />
              <input
                type="radio"
                name="new"
                aria-label={`Compare to ${nameOf(version)}`}
                checked={at === newer}
                onChange={() => choose(at, Math.max(older, at + 1))}
              />
              <button type="button" onClick={() => choose(at, at + 1)}>
                <span class={`verb ${version.kind}`}>{verbOf(version)}</span>{' '}
                <span>{detailText(version)}</span>
                <small class="muted">
                  {version.time.replace('T', ' ').slice(0, 19)}
                  {byText(version) !== undefined && `, ${byText(version)}`}
                </small>
              </button>
            </li>
          ))}
        </ol>
        {next !== null && (
          <button type="button" disabled={isLoading} onClick={() => void load(versions)}>
            Older versions
          </button>
        )}
        <p class="muted">
          {countText(list.length)}
          {next === null ? '' : ' or more'} {list.length === 1 ? 'change' : 'changes'} in the
          history of this server. Times are UTC.
        </p>
      </section>
      <Comparison path={path} newer={list[newer]!} older={list[older]} isNewest={newer === 0} />
    </div>
  )
}

function nameOf(version: PastChange): string {
  return `${verbOf(version)} ${detailText(version)} at ${version.time.slice(0, 19)}`
}

interface ComparisonProps {
  readonly path: string
  readonly newer: PastChange
  readonly older: PastChange | undefined
  readonly isNewest: boolean
}

interface Loaded {
  readonly key: string
  readonly before: State | null
  readonly after: State | null
}

function Comparison({ path, newer, older, isNewest }: ComparisonProps) {
  const [loaded, setLoaded] = useState<Loaded | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [agreed, setAgreed] = useState('')
  /** Fixed when the dialog opens, because a new version shifts the comparison. */
  const [dialog, setDialog] = useState<
    { readonly at: string; readonly state: State | undefined } | undefined
  >(undefined)
  // Before the oldest change that is known, the state may be known all the same.
  const then = older?.zxid ?? zxidBefore(newer.zxid)
  const key = `${then} ${newer.zxid}`
  const bytes = (newer.dataLength ?? 0) + (older?.dataLength ?? 0)
  const isAsked = bytes <= unaskedBytesMax || agreed === key
  useEffect(() => {
    if (!isAsked || !mayRead.value) return
    let isHere = true
    Promise.all([stateOrNone(path, then), stateOrNone(path, newer.zxid)]).then(
      ([before, after]) => {
        if (!isHere) return
        setLoaded({ key, before, after })
        setError(undefined)
      },
      (fault: unknown) => isHere && setError(fault),
    )
    return () => void (isHere = false)
  }, [key, isAsked])
  const label = (version: PastChange | undefined, zxid: string) => (
    <>
      {version === undefined ? 'Before' : version.time.replace('T', ' ').slice(0, 19)}{' '}
      <a href={momentOf(zxid, path)}>{zxid}</a>
    </>
  )
  const isGone = isNewest && newer.kind === 'delete'
  const current = loaded?.key === key ? loaded : undefined
  return (
    <section class="comparison" aria-label="Comparison">
      <header class="line">
        <h2 class="grow">
          <a href={hrefOf('tree', { path })}>{path}</a>
        </h2>
        {mayWrite.value && current !== undefined && !isGone && (
          <>
            {current.before !== null && (
              <button
                type="button"
                onClick={() => setDialog({ at: then, state: current.before ?? undefined })}
              >
                Restore the older one
              </button>
            )}
            {!isNewest && current.after !== null && (
              <button
                type="button"
                onClick={() => setDialog({ at: newer.zxid, state: current.after ?? undefined })}
              >
                Restore the newer one
              </button>
            )}
          </>
        )}
        {mayWrite.value && isGone && (
          <button
            type="button"
            class="primary"
            onClick={() => setDialog({ at: zxidBefore(newer.zxid), state: undefined })}
          >
            Undelete
          </button>
        )}
      </header>
      {!mayRead.value && <p class="muted">Your role does not show data.</p>}
      <Problem error={error} />
      {!isAsked && (
        <p class="notice">
          These versions have {bytesText(bytes)} of data.{' '}
          <button type="button" onClick={() => setAgreed(key)}>
            Load and compare them
          </button>
        </p>
      )}
      {current === undefined ? (
        isAsked && mayRead.value && error === undefined && <p class="muted">Loading</p>
      ) : (
        <StateDiff
          key={key}
          before={current.before}
          after={current.after}
          labels={[label(older, then), label(newer, newer.zxid)]}
        />
      )}
      {dialog !== undefined &&
        (dialog.state === undefined ? (
          <UndeleteDialog path={path} at={dialog.at} onClose={() => setDialog(undefined)} />
        ) : (
          <RestoreDialog
            path={path}
            at={dialog.at}
            then={dialog.state}
            onClose={() => setDialog(undefined)}
          />
        ))}
    </section>
  )
}

/** Null where there was no such znode. */
async function stateOrNone(path: string, at: string): Promise<State | null> {
  try {
    return await stateAt(path, at)
  } catch (fault) {
    if (fault instanceof ApiError && fault.code === 'noNode') return null
    throw fault
  }
}
