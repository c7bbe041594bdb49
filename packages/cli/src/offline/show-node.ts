import type { Output } from '../output/output.ts'
import { storedKind } from '@zabra/protocol'
import { dataJson } from '../node/data.ts'
import { hex, isoTime } from '../node/stat.ts'
import type { StoredNode } from './snapshots.ts'

/** Prints a node of a snapshot on one line. */
export function showNode({ path, data, stat }: StoredNode, out: Output, withData: boolean): void {
  const kind = storedKind(stat.ephemeralOwner)
  if (out.json) {
    out.dataLine({
      path,
      kind,
      bytes: data?.length ?? 0,
      version: stat.version,
      czxid: hex(stat.czxid),
      mzxid: hex(stat.mzxid),
      ctime: isoTime(stat.ctime),
      mtime: isoTime(stat.mtime),
      ephemeralOwner: kind === 'ephemeral' ? hex(stat.ephemeralOwner) : null,
      ...(withData ? dataJson(data) : {}),
    })
    return
  }
  const owner = kind === 'ephemeral' ? ` of session ${hex(stat.ephemeralOwner)}` : ''
  const shown = withData && data !== null ? ` ${JSON.stringify(Buffer.from(data).toString())}` : ''
  out.line(
    `${path} ${kind}${owner} ${data?.length ?? 0} bytes version ${stat.version} ${isoTime(stat.mtime)}${shown}`,
  )
}
