import { useEffect, useState } from 'preact/hooks'
import { change, get } from '../api.ts'
import { Dialog, Problem } from '../dialog.tsx'
import { countText } from '../format.ts'
import { announcement } from '../state.ts'
import type { SessionDetail } from './session-detail.tsx'

interface Props {
  readonly id: string
  readonly onClose: () => void
}

/** Ends a session, once the user knows what goes with it. */
export function EndSession({ id, onClose }: Props) {
  const [ephemerals, setEphemerals] = useState<number | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  useEffect(() => {
    get<SessionDetail>('/sessions/detail', { id }).then(
      ({ ephemeralsTotal }) => setEphemerals(ephemeralsTotal),
      setError,
    )
  }, [id])
  const end = async (event: Event): Promise<void> => {
    event.preventDefault()
    try {
      await change('DELETE', '/sessions', { id })
      announcement.value = `Session ${id} has ended`
      onClose()
    } catch (fault) {
      setError(fault)
    }
  }
  return (
    <Dialog title={`End session ${id}`} onClose={onClose}>
      <form onSubmit={(event) => void end(event)}>
        <p>
          {ephemerals === undefined
            ? 'Counting its ephemeral znodes.'
            : `Its client is disconnected, and its ${countText(ephemerals)} ephemeral ${
                ephemerals === 1 ? 'znode is' : 'znodes are'
              } deleted: locks and registrations that they stand for are lost.`}
        </p>
        <Problem error={error} />
        <button class="danger" disabled={ephemerals === undefined}>
          End session
        </button>
      </form>
    </Dialog>
  )
}
