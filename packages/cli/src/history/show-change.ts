import type { ChangeJson, SessionClientJson } from '@zabra/protocol'
import type { Output } from '../output/output.ts'

/** Changes are printed as they come, so the columns have fixed widths: a zxid of epoch 0xff, `closeSession`. */
const zxidWidth = '0xff00000000'.length
const kindWidth = 'closeSession'.length

/** Prints a change: a line, or an object in JSON. */
export function showChange(change: ChangeJson, out: Output): void {
  if (out.json) {
    out.dataLine(change)
    return
  }
  const { zxid, time, kind, path, version, dataLength, session, cause, nodeKind, data } = change
  const words = [time, zxid.padEnd(zxidWidth), kind.padEnd(kindWidth)]
  if (path !== null) words.push(path)
  if (nodeKind !== null && nodeKind !== 'persistent') words.push(nodeKind)
  if (version !== null && kind !== 'create') words.push(`version ${version}`)
  if (dataLength !== null) words.push(`${dataLength} bytes`)
  if (change.timeoutMs !== null) words.push(`timeout ${change.timeoutMs} ms`)
  if (cause !== null) words.push(`(${causes.get(cause) ?? cause})`)
  if (session !== null && session !== '0x0') words.push(`by session ${session}`)
  if (change.client !== null) words.push(`(${described(change.client)})`)
  if (typeof data === 'string') words.push(JSON.stringify(data))
  out.line(words.join(' '))
}

function described({ address, identities, isOfApi }: SessionClientJson): string {
  const users = identities
    .filter((each) => !each.startsWith('ip:'))
    .map((each) => each.replace(/^digest:/, ''))
  const place = isOfApi ? `${address} by the API` : address
  return users.length === 0 ? place : `${users.join(', ')} at ${place}`
}

const causes: ReadonlyMap<string, string> = new Map([
  ['sessionEnd', 'its session ended'],
  ['reclaimed', 'reclaimed by the server'],
  ['expired', 'expired'],
])
