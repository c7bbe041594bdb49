import { useEffect, useState } from 'preact/hooks'
import { AclWords } from '../acl-view.tsx'
import { ApiError, get, getData, noData, type Data, type Node } from '../api.ts'
import { DataView, firstBytes } from '../data-view.tsx'
import { Problem } from '../dialog.tsx'
import { Crumbs, Facts } from '../node-facts.tsx'
import { hrefOf, mayRead, mayWrite } from '../state.ts'
import { differenceOf, momentOf, versionsOf } from './links.ts'
import { nodeAt, type PastNode } from './past.ts'
import { RestoreDialog } from './restore-dialog.tsx'
import { stateAt, type State } from './state.ts'
import { UndeleteDialog } from './undelete-dialog.tsx'

interface Props {
  readonly path: string
  readonly at: string
}

/** A znode as it was. */
export function PastNodeView({ path, at }: Props) {
  const [node, setNode] = useState<PastNode | undefined>(undefined)
  const [data, setData] = useState<Data | undefined>(undefined)
  const [now, setNow] = useState<Node | 'gone' | 'hidden' | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [isUndeleting, setUndeleting] = useState(false)
  /** What is to be restored, whole. */
  const [restored, setRestored] = useState<State | undefined>(undefined)
  const loadData = (bytesMax?: number): void =>
    void getData({ path, at }, bytesMax).then(setData, setError)
  const lookNow = (): void => {
    get<Node>('/node', { path }).then(setNow, (fault: unknown) =>
      setNow(fault instanceof ApiError && fault.code === 'noNode' ? 'gone' : 'hidden'),
    )
  }
  useEffect(() => {
    lookNow()
    nodeAt(path, at).then((found) => {
      setNode(found)
      if (!mayRead.value) return
      if (found.dataLength > 0) loadData(firstBytes)
      else setData(noData(found.version))
    }, setError)
  }, [path, at])
  const isSame = typeof now === 'object' && node !== undefined && now.mzxid === node.mzxid
  return (
    <section class="node" aria-label={`Znode ${path} then`}>
      <header>
        <h2>
          <Crumbs path={path} hrefAt={(to) => momentOf(at, to)} />
        </h2>
        <div class="actions">
          {now === 'gone' && node !== undefined && mayWrite.value && (
            <button type="button" onClick={() => setUndeleting(true)}>
              Undelete
            </button>
          )}
          {typeof now === 'object' && !isSame && data !== undefined && mayWrite.value && (
            <button
              type="button"
              onClick={() => void stateAt(path, at).then(setRestored, setError)}
            >
              Restore
            </button>
          )}
        </div>
      </header>
      {error instanceof ApiError && error.code === 'noNode' ? (
        <p class="muted">There was no such znode at that moment.</p>
      ) : (
        <Problem error={error} />
      )}
      {node !== undefined && (
        <>
          <p class="line links">
            <NowText now={now} isSame={isSame} />
            <a href={hrefOf('tree', { path })}>Now</a>
            <a href={versionsOf(path)}>All versions</a>
            <a href={differenceOf(at, undefined, path)}>What is different now, here and below</a>
          </p>
          {!mayRead.value && <p class="muted">Your role does not show data.</p>}
          {data !== undefined && <DataView path={path} data={data} onWantAll={() => loadData()} />}
          <Facts node={node} />
          <section class="acl" aria-label="Access then">
            <h3>Access</h3>
            <AclWords acl={node.acl ?? []} />
          </section>
        </>
      )}
      {isUndeleting && (
        <UndeleteDialog
          path={path}
          at={at}
          onClose={() => {
            setUndeleting(false)
            lookNow()
          }}
        />
      )}
      {restored !== undefined && (
        <RestoreDialog
          path={path}
          at={at}
          then={restored}
          onClose={() => {
            setRestored(undefined)
            lookNow()
          }}
        />
      )}
    </section>
  )
}

function NowText({
  now,
  isSame,
}: {
  readonly now: Node | 'gone' | 'hidden' | undefined
  readonly isSame: boolean
}) {
  if (now === undefined) return <span class="muted">Loading its current state</span>
  if (now === 'gone') return <span class="since deleted">deleted since</span>
  if (now === 'hidden') return <span class="since">hidden now</span>
  return isSame ? (
    <span class="since same">the same data now</span>
  ) : (
    <span class="since changed">version {now.version} now</span>
  )
}
