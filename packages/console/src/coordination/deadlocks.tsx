import { isAdmin, hrefOf } from '../state.ts'
import type { Coordination } from './lines.ts'

interface Props extends Pick<Coordination, 'deadlocks'> {
  readonly names: ReadonlyMap<string, string>
  readonly onEnd: (session: string) => void
}

/** Each deadlock as a sentence, and what ends it. */
export function Deadlocks({ deadlocks, names, onEnd }: Props) {
  return (
    <>
      {deadlocks.map((circle) => (
        <section key={circle.map(({ waiter }) => waiter).join(' ')} class="alarm-box" role="alert">
          <h3>Deadlock of {circle.length} sessions</h3>
          <ol>
            {circle.map(({ waiter, holder, path }) => (
              <li key={waiter}>
                <Session id={waiter} names={names} /> waits for{' '}
                <a href={hrefOf('locks', { line: path })}>{path}</a>, held by{' '}
                <Session id={holder} names={names} />
                {isAdmin.value && (
                  <button type="button" class="danger" onClick={() => onEnd(waiter)}>
                    End session {waiter}
                  </button>
                )}
              </li>
            ))}
          </ol>
          <p>
            None of them can continue. The deadlock ends when one of them gives up or loses its
            session
            {isAdmin.value ? '.' : '; an administrator can end a session.'}
          </p>
        </section>
      ))}
    </>
  )
}

function Session({ id, names }: { readonly id: string; readonly names: Props['names'] }) {
  const name = names.get(id)
  return (
    <a href={hrefOf('sessions', { id })}>
      {name === undefined ? `session ${id}` : `${name} (${id})`}
    </a>
  )
}
