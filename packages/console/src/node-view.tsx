import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, change, get, getData, type Data, type Node } from './api.ts'
import { AclView } from './acl-view.tsx'
import { DataView } from './data-view.tsx'
import { Dialog, Problem } from './dialog.tsx'
import { bytesText, countText } from './format.ts'
import { Crumbs, Facts } from './node-facts.tsx'
import {
  announcement,
  changeListeners,
  generation,
  go,
  hrefOf,
  mayRead,
  mayWrite,
} from './state.ts'
import { joinPath, parentOf } from './paths.ts'

/** More of a value is only loaded when it is asked for. */
const firstBytes = 64 * 1024

/** One znode: what it is, its data, and what may be done with it. */
export function NodeView({ path }: { readonly path: string }) {
  const [node, setNode] = useState<Node | undefined>(undefined)
  const [data, setData] = useState<Data | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [dataError, setDataError] = useState<unknown>(undefined)
  const [dialog, setDialog] = useState<'create' | 'delete' | undefined>(undefined)
  const wantsAll = useRef(false)
  const load = async (): Promise<void> => {
    try {
      setNode(await get<Node>('/node', { path }))
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
      setData(await getData(path, wantsAll.current ? undefined : firstBytes))
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
          <a class="button" href={hrefOf('history', { show: 'versions', path })}>
            Versions
          </a>
          <a class="button" href={hrefOf('history', { path })}>
            Changes below
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

function CreateDialog({
  parent,
  onClose,
}: {
  readonly parent: string
  readonly onClose: () => void
}) {
  const [name, setName] = useState('')
  const [data, setText] = useState('')
  const [kind, setKind] = useState('persistent')
  const [ttl, setTtl] = useState('60')
  const [isSequential, setSequential] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    try {
      const ttlMs = kind === 'ttl' ? { ttlMs: Math.round(Number(ttl) * 1000) } : {}
      const body = { path: joinPath(parent, name), data, kind, isSequential, ...ttlMs }
      const made = await change<Node>('POST', '/node', {}, body)
      announcement.value = `${made.path} is created`
      onClose()
      go('tree', { path: made.path })
    } catch (fault) {
      setError(fault)
    }
  }
  return (
    <Dialog title={`New child of ${parent}`} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <label>
          Name
          <input
            required={!isSequential}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label>
          Kind
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
            <option value="persistent">persistent: stays until it is deleted</option>
            <option value="container">container: goes some time after its last child</option>
            <option value="ttl">TTL: goes when it has not changed for some time</option>
          </select>
        </label>
        {kind === 'ttl' && (
          <label>
            Seconds
            <input
              type="number"
              min="1"
              value={ttl}
              onInput={(event) => setTtl(event.currentTarget.value)}
            />
          </label>
        )}
        {kind !== 'container' && (
          <label class="check">
            <input
              type="checkbox"
              checked={isSequential}
              onChange={(event) => setSequential(event.currentTarget.checked)}
            />
            add a number to the name
          </label>
        )}
        <label>
          Data
          <textarea rows={5} value={data} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <Problem error={error} />
        <button class="primary">Create</button>
      </form>
    </Dialog>
  )
}

interface Counts {
  readonly nodes: number
  readonly bytes: number
  readonly ephemerals: number
  readonly unreadable: number
}

function DeleteDialog({ node, onClose }: { readonly node: Node; readonly onClose: () => void }) {
  const { path, version } = node
  const recursive = node.numChildren > 0
  const [impact, setImpact] = useState<Counts | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  useEffect(() => {
    change<Counts>('DELETE', '/node', { path, recursive, dryRun: true }).then(setImpact, setError)
  }, [path, recursive])
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    try {
      await change('DELETE', '/node', { path, version, recursive })
      announcement.value = `${path} is deleted`
      onClose()
      go('tree', { path: parentOf(path) })
    } catch (fault) {
      setError(fault)
    }
  }
  return (
    <Dialog title={`Delete ${path}`} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        {impact === undefined && error === undefined && <p>Counting what is below it.</p>}
        {impact !== undefined && (
          <p>
            This deletes{' '}
            <strong>
              {countText(impact.nodes)} {impact.nodes === 1 ? 'znode' : 'znodes'}
            </strong>{' '}
            with {bytesText(impact.bytes)} of data
            {impact.ephemerals > 0 &&
              `, ${countText(impact.ephemerals)} of them ephemeral: their sessions still use them`}
            . It cannot be undone.
          </p>
        )}
        {impact !== undefined && impact.unreadable > 0 && (
          <p class="problem">
            Some of them hide their children from you ({impact.unreadable}): nothing will be
            deleted.
          </p>
        )}
        <Problem error={error} />
        <button class="danger" disabled={impact === undefined}>
          Delete
        </button>
      </form>
    </Dialog>
  )
}
