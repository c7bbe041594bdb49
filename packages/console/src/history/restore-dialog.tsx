import { useEffect, useState } from 'preact/hooks'
import { ApiError, change, get, getData, type AclEntry, type Node } from '../api.ts'
import { Dialog, Problem } from '../dialog.tsx'
import { announcement } from '../state.ts'
import { aclLines, type State } from './state.ts'
import { StateDiff } from './state-diff.tsx'

interface Props {
  readonly path: string
  readonly at: string
  /** The state at that moment. */
  readonly then: State
  readonly onClose: () => void
}

/** Gives a znode the data that it had: over the version that is shown, and over no other. */
export function RestoreDialog({ path, at, then, onClose }: Props) {
  const [now, setNow] = useState<State | undefined>(undefined)
  const [withAcl, setWithAcl] = useState(false)
  const [isConflict, setConflict] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  const look = async (): Promise<void> => {
    try {
      const [node, { bytes, version }, { acl }] = await Promise.all([
        get<Node>('/node', { path }),
        getData({ path }),
        get<{ acl: AclEntry[] }>('/acl', { path }),
      ])
      // The version is the one of the data that is shown.
      setNow({ node: { ...node, version, acl }, bytes })
    } catch (fault) {
      setError(fault)
    }
  }
  useEffect(() => void look(), [path])
  const restore = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (now === undefined) return
    setError(undefined)
    try {
      const { version } = now.node
      await change('POST', '/history/restore', {}, { path, at, version, acl: withAcl })
      announcement.value = `${path} has the data of ${at} again`
      onClose()
    } catch (fault) {
      if (!(fault instanceof ApiError) || fault.code !== 'badVersion') return setError(fault)
      setConflict(true)
      await look()
    }
  }
  const isAclOther =
    now !== undefined && aclLines(now.node.acl).join('\n') !== aclLines(then.node.acl).join('\n')
  return (
    <Dialog title={`Restore ${path}`} onClose={onClose} isWide>
      <form onSubmit={(event) => void restore(event)}>
        {now === undefined ? (
          error === undefined && <p>Loading its current state.</p>
        ) : (
          <>
            {isConflict && (
              <p class="problem" role="alert">
                Another client has changed it: it is version {now.node.version} now, and nothing was
                restored. Below is what restoring would change now.
              </p>
            )}
            <StateDiff
              before={now}
              after={{
                ...then,
                node: { ...now.node, acl: withAcl ? then.node.acl! : now.node.acl! },
              }}
              labels={[`Now, version ${now.node.version}`, `Restored, as of ${at}`]}
            />
            {isAclOther && then.node.acl !== undefined && (
              <label class="check">
                <input
                  type="checkbox"
                  checked={withAcl}
                  onChange={(event) => setWithAcl(event.currentTarget.checked)}
                />
                restore its ACL, too
              </label>
            )}
          </>
        )}
        <Problem error={error} />
        <div class="line">
          <button class={isConflict ? 'danger' : 'primary'} disabled={now === undefined}>
            Restore over version {now?.node.version ?? '…'}
          </button>
          <button type="button" onClick={onClose}>
            {isConflict ? 'Keep theirs' : 'Cancel'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
