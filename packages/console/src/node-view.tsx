import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, get, getData, noData, type Data, type Node } from './api.ts'
import { AclView } from './acl-view.tsx'
import { DataView, firstBytes } from './data-view.tsx'
import { CopyButton } from './copy-button.tsx'
import { CreateDialog } from './create-dialog.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import { Problem } from './dialog.tsx'
import { Crumbs, Facts } from './node-facts.tsx'
import { changeListeners, generation, hrefOf, mayRead, mayWrite } from './state.ts'
import { parentOf } from './paths.ts'
import { QuotaView } from './quota-view.tsx'
import { favorites } from './stored-list.ts'

/** One znode: what it is, its data, and what may be done with it. */
export function NodeView({ path }: { readonly path: string }) {
  const [node, setNode] = useState<Node | undefined>(undefined)
  const [data, setData] = useState<Data | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [dataError, setDataError] = useState<unknown>(undefined)
  const [dialog, setDialog] = useState<'create' | 'delete' | undefined>(undefined)
  const wantsAll = useRef(false)
  const load = async (): Promise<void> => {
    let found: Node
    try {
      found = await get<Node>('/node', { path })
      setNode(found)
      setError(undefined)
    } catch (fault) {
      // While the server is away, what was seen last stays.
      if (fault instanceof ApiError && fault.status === 0) return
      setNode(undefined)
      setData(undefined)
      return setError(fault)
    }
    if (!mayRead.value) return
    try {
      const bytesMax = wantsAll.current ? undefined : firstBytes
      setData(found.dataLength > 0 ? await getData({ path }, bytesMax) : noData(found.version))
      setDataError(undefined)
    } catch (fault) {
      if (fault instanceof ApiError && fault.status === 0) return
      setData(undefined)
      setDataError(fault)
    }
  }
  const connection = generation.value
  useEffect(() => {
    void load()
    const listener = (
      changes: readonly { readonly path: string }[],
      isTruncated: boolean,
    ): void => {
      const isOurs = changes.some((each) => each.path === path || parentOf(each.path) === path)
      if (isOurs || isTruncated) void load()
    }
    changeListeners.add(listener)
    return () => void changeListeners.delete(listener)
  }, [path, connection])
  return (
    <section class="node" aria-label={`Znode ${path}`}>
      <header>
        <h2>
          <Crumbs path={path} hrefAt={(to) => hrefOf('tree', { path: to })} />
        </h2>
        <div class="actions">
          <button
            type="button"
            aria-pressed={favorites.has(path)}
            aria-label="Favorite"
            title="Favorite"
            onClick={() => favorites.toggle(path)}
          >
            {favorites.has(path) ? '★' : '☆'}
          </button>
          <CopyButton text={path} label="Copy path" />
          <a class="button" href={hrefOf('history', { show: 'versions', path })}>
            Versions
          </a>
          <a class="button" href={hrefOf('history', { path })}>
            Changes
          </a>
        </div>
        {mayWrite.value && node !== undefined && (
          <div class="actions">
            {node.kind !== 'ephemeral' && (
              <button type="button" onClick={() => setDialog('create')}>
                New child
              </button>
            )}
            {path !== '/' && (
              <button type="button" class="danger" onClick={() => setDialog('delete')}>
                Delete
              </button>
            )}
          </div>
        )}
      </header>
      <Problem error={error} />
      {node !== undefined && (
        <>
          {!mayRead.value && <p class="muted">Your role does not show data.</p>}
          {dataError !== undefined && <Problem error={dataError} />}
          {data !== undefined && (
            <DataView
              path={path}
              data={data}
              onWantAll={() => {
                wantsAll.current = true
                void load()
              }}
              onSaved={load}
            />
          )}
          <Facts node={node} />
          <AclView path={path} aversion={node.aversion} />
          <QuotaView path={path} />
        </>
      )}
      {dialog === 'create' && node !== undefined && (
        <CreateDialog parent={path} onClose={() => setDialog(undefined)} />
      )}
      {dialog === 'delete' && node !== undefined && (
        <DeleteDialog node={node} onClose={() => setDialog(undefined)} />
      )}
    </section>
  )
}
