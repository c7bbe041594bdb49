import type { ComponentChildren } from 'preact'
import { DataDiff } from './data-diff.tsx'
import { aclLines, factsChanged, isSameData, type State } from './state.ts'

interface Props {
  readonly before: State | null
  readonly after: State | null
  readonly labels: readonly [ComponentChildren, ComponentChildren]
}

/** Two states of a znode side by side: data, access, kind. */
export function StateDiff({ before, after, labels }: Props) {
  if (before === null && after === null) return <p class="muted">It was not there.</p>
  const facts = before === null || after === null ? [] : factsChanged(before.node, after.node)
  const isDataSame = before !== null && after !== null && isSameData(before.bytes, after.bytes)
  return (
    <div class="state-diff">
      {before === null && <p class="notice">It was not there before.</p>}
      {after === null && <p class="notice">It is not there after that.</p>}
      {facts.map((fact) => (
        <p key={fact} class="notice">
          {fact}
        </p>
      ))}
      {isDataSame ? (
        <p class="muted">The data is the same, byte for byte.</p>
      ) : (
        <DataDiff before={before?.bytes} after={after?.bytes} labels={labels} />
      )}
      <AclDiff before={before} after={after} />
    </div>
  )
}

function AclDiff({ before, after }: Pick<Props, 'before' | 'after'>) {
  const [old, now] = [aclLines(before?.node.acl), aclLines(after?.node.acl)]
  const gone = old.filter((line) => !now.includes(line))
  const fresh = now.filter((line) => !old.includes(line))
  if (gone.length === 0 && fresh.length === 0) {
    if (before === null || after === null || before.node.aversion === after.node.aversion)
      return null
    return <p class="muted">The ACL was set, to the same as far as it is shown.</p>
  }
  return (
    <div class="acl-diff">
      <h3>Access</h3>
      <ul>
        {gone.map((line) => (
          <li key={line} class="gone">
            <del>{line}</del>
          </li>
        ))}
        {fresh.map((line) => (
          <li key={line} class="new">
            <ins>{line}</ins>
          </li>
        ))}
      </ul>
    </div>
  )
}
