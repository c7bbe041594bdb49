import type { Node } from './api.ts'
import { bytesText, countText, lastingText, timeText } from './format.ts'
import { hrefOf } from './state.ts'

interface CrumbsProps {
  readonly path: string
  readonly hrefAt: (path: string) => string
}

/** The path of a znode, with a link to each znode above it. */
export function Crumbs({ path, hrefAt }: CrumbsProps) {
  const parts = path.split('/').filter(Boolean)
  return (
    <span class="crumbs">
      <a href={hrefAt('/')}>/</a>
      {parts.map((part, at) => {
        const to = `/${parts.slice(0, at + 1).join('/')}`
        return (
          <span key={to} class="crumb">
            {at > 0 && '/'}
            {to === path ? part : <a href={hrefAt(to)}>{part}</a>}
          </span>
        )
      })}
    </span>
  )
}

/** The stat of a znode. */
export function Facts({ node }: { readonly node: Node }) {
  const { ttlMs, kind, ephemeralOwner } = node
  const facts: (readonly [string, string])[] = [
    ['Kind', ttlMs === null ? kind : `${kind}, ${lastingText(ttlMs)} after the last change`],
    ['Children', countText(node.numChildren)],
    ['Data', bytesText(node.dataLength)],
    ['Version', `${node.version} data, ${node.cversion} children, ${node.aversion} ACL`],
    ['Created', `${timeText(node.ctime)} UTC, zxid ${node.czxid}`],
    ['Changed', `${timeText(node.mtime)} UTC, zxid ${node.mzxid}`],
    ['Children changed', `zxid ${node.pzxid}`],
  ]
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      {ephemeralOwner !== null && (
        <div>
          <dt>Session</dt>
          <dd>
            <a href={hrefOf('sessions', { id: ephemeralOwner })}>{ephemeralOwner}</a>
          </dd>
        </div>
      )}
    </dl>
  )
}
