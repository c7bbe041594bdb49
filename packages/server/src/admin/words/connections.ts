import type { ServerView } from '../../server-view.ts'
import type { ClientSocket } from '../../net/client-socket.ts'
import { hex } from '../java-text.ts'

/** `cons`: every connection and what it did last. */
export function* cons(view: ServerView): IterableIterator<string> {
  for (const socket of view.sockets) {
    const rest = socket.connection.sessionId === 0n ? '' : sessionPart(socket)
    yield `${briefConnection(socket)}${rest})\n`
  }
  yield '\n'
}

/** Address and counts; the parenthesis is left open. */
export function briefConnection(socket: ClientSocket): string {
  const { connection, interestOps } = socket
  const { queue, packetsReceived, packetsSent } = connection
  return ` /${addressText(socket)}[${interestOps.toString(16)}](queued=${queue.length},recved=${packetsReceived},sent=${packetsSent}`
}

export function addressText({ address, port }: ClientSocket): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}

function sessionPart({ connection }: ClientSocket): string {
  const { sessionId, lastOperation, openedWallMs, timeoutMs, lastXid, latency } = connection
  const { lastZxid, lastResponseMs, lastLatencyMs } = connection
  const lcxid = lastXid >= 0 ? `,lcxid=0x${lastXid.toString(16)}` : ''
  return (
    `,sid=0x${hex(sessionId)},lop=${operationCode(lastOperation)},est=${openedWallMs}` +
    `,to=${timeoutMs}${lcxid},lzxid=0x${hex(lastZxid)},lresp=${lastResponseMs}` +
    `,llat=${lastLatencyMs},minlat=${latency.min},avglat=${Math.trunc(latency.mean)},maxlat=${latency.max}`
  )
}

/** The short names ZooKeeper has for operations; NA for none yet. */
const operationCodes = new Map([
  [-11, 'CLOS'],
  [-10, 'SESS'],
  [1, 'CREA'],
  [2, 'DELE'],
  [3, 'EXIS'],
  [4, 'GETD'],
  [5, 'SETD'],
  [6, 'GETA'],
  [7, 'SETA'],
  [8, 'GETC'],
  [9, 'SYNC'],
  [11, 'PING'],
  [12, 'GETC'],
  [13, 'CHEC'],
  [14, 'MULT'],
  [15, 'CREA'],
  [16, 'RECO'],
  [17, 'CHKW'],
  [18, 'REMW'],
  [19, 'CREA'],
  [20, 'DELE'],
  [21, 'CREA'],
  [22, 'MLTR'],
  [101, 'SETW'],
  [103, 'GETE'],
  [104, 'GETACN'],
  [105, 'STW2'],
  [106, 'ADDW'],
  [107, 'HOMI'],
])

export function operationCode(operation: number): string {
  return operationCodes.get(operation) ?? 'NA'
}
