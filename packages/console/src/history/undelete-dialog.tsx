import { useEffect, useState } from 'preact/hooks'
import { change } from '../api.ts'
import { Dialog, Problem } from '../dialog.tsx'
import { bytesText, countText } from '../format.ts'
import { announcement, go } from '../state.ts'

interface Props {
  readonly path: string
  /** As it was then. */
  readonly at: string
  readonly onClose: () => void
}

interface Restored {
  readonly created: number
  readonly bytes: number
  readonly existing: number
  readonly ephemerals: number
}

/** Creates a deleted znode again, with all that was below it. */
export function UndeleteDialog({ path, at, onClose }: Props) {
  const [plan, setPlan] = useState<Restored | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const [isWorking, setWorking] = useState(false)
  useEffect(() => {
    change<Restored>('POST', '/history/undelete', {}, { path, at, dryRun: true }).then(
      setPlan,
      setError,
    )
  }, [path, at])
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setWorking(true)
    setError(undefined)
    try {
      await change('POST', '/history/undelete', {}, { path, at })
      announcement.value = `${path} is back`
      onClose()
      go('tree', { path })
    } catch (fault) {
      setError(fault)
      setWorking(false)
    }
  }
  const nodes = (count: number): string => `${countText(count)} ${count === 1 ? 'znode' : 'znodes'}`
  return (
    <Dialog title={`Undelete ${path}`} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        {plan === undefined && error === undefined && <p>Loading what was there.</p>}
        {plan !== undefined &&
          (plan.created === 0 ? (
            <p>Nothing of it is missing that could be created again.</p>
          ) : (
            <p>
              This creates <strong>{nodes(plan.created)}</strong> again, with{' '}
              {bytesText(plan.bytes)} of data, with their ACLs and kinds, as they were at {at}.
            </p>
          ))}
        {plan !== undefined && plan.existing > 0 && (
          <p>{nodes(plan.existing)} that exist now stay as they are.</p>
        )}
        {plan !== undefined && plan.ephemerals > 0 && (
          <p class="notice">
            {nodes(plan.ephemerals)} were ephemeral and stay deleted: their sessions are over.
          </p>
        )}
        <Problem error={error} />
        <button class="primary" disabled={plan === undefined || plan.created === 0 || isWorking}>
          {isWorking ? 'Undeleting' : 'Undelete'}
        </button>
      </form>
    </Dialog>
  )
}
