import { useEffect, useState } from 'preact/hooks'
import { Problem } from '../dialog.tsx'
import { generation } from '../state.ts'
import { statesAround, type State } from './state.ts'
import { StateDiff } from './state-diff.tsx'

interface Props {
  readonly path: string
  readonly zxid: string
}

/** The effect of a transaction on a znode. */
export function StepDiff({ path, zxid }: Props) {
  const [states, setStates] = useState<
    { readonly before: State | null; readonly after: State | null } | undefined
  >(undefined)
  const [error, setError] = useState<unknown>(undefined)
  useEffect(() => {
    let isHere = true
    settled(() => statesAround(path, zxid)).then(
      (found) => isHere && setStates(found),
      (fault: unknown) => isHere && setError(fault),
    )
    return () => void (isHere = false)
  }, [path, zxid, generation.value])
  if (states === undefined) {
    return error === undefined ? <p class="muted">Loading</p> : <Problem error={error} />
  }
  return <StateDiff {...states} labels={['Before', 'After']} />
}

const tries = 10
const pauseMs = 200

/** A change that was told live may not be in the history of the server for a moment. */
async function settled<T>(ask: () => Promise<T>): Promise<T> {
  for (let i = 1; ; i++) {
    try {
      return await ask()
    } catch (fault) {
      const isEarly = fault instanceof Error && (fault as { code?: string }).code === 'notYet'
      if (!isEarly || i === tries) throw fault
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}
