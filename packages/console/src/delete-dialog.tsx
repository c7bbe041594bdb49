import { useEffect, useState } from 'preact/hooks'
import { change, get, type Node } from './api.ts'
import { Dialog, Problem } from './dialog.tsx'
import { bytesText, countText } from './format.ts'
import { parentOf } from './paths.ts'
import { announcement, go } from './state.ts'

interface Counts {
  readonly nodes: number
  readonly bytes: number
  readonly ephemerals: number
  readonly unreadable: number
}

/** Deletes a znode, or a subtree, after its size was shown. */
export function DeleteDialog({
  node,
  onClose,
}: {
  readonly node: Node
  readonly onClose: () => void
}) {
  const { path, version } = node
  const recursive = node.numChildren > 0
  const [impact, setImpact] = useState<Counts | undefined>(undefined)
  const [isKept, setKept] = useState<boolean | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  useEffect(() => {
    change<Counts>('DELETE', '/node', { path, recursive, dryRun: true }).then(setImpact, setError)
    get('/history/changes', { path, exact: true, limit: 1 }).then(
      () => setKept(true),
      () => setKept(false),
    )
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
            .
          </p>
        )}
        {isKept === true && (
          <p class="muted">
            You can undelete it from the history of this server, as long as that is kept; ephemeral
            znodes stay deleted.
          </p>
        )}
        {isKept === false && (
          <p class="muted">This server keeps no history: it cannot be undone.</p>
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
