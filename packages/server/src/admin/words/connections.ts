import { codes } from '@zabra/protocol'
import type { ServerView } from '../../view/server-view.ts'
import type { ClientSocket } from '../../net/client-socket.ts'
import { hexDigits } from '../java-text.ts'

/** `cons`: every connection and its last operation. */
export function* cons(view: ServerView): IterableIterator<string> {
  for (const socket of view.sockets) {
    const rest = socket.connection.sessionId === 0n ? '' : sessionPart(socket)
    yield `${briefConnection(socket)}${rest})\n`
  }
  yield '\n'
}

/** Address and counts; the parenthesis stays open. */
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
    `,sid=0x${hexDigits(sessionId)},lop=${operationCode(lastOperation)},est=${openedWallMs}` +
    `,to=${timeoutMs}${lcxid},lzxid=0x${hexDigits(lastZxid)},lresp=${lastResponseMs}` +
    `,llat=${lastLatencyMs},minlat=${latency.min},avglat=${Math.trunc(latency.mean)},maxlat=${latency.max}`
  )
}

/** ZooKeeper's short names of operations; NA for none yet. */
const operationCodes = new Map<number, string>([
  [codes.closeSession, 'CLOS'],
  [codes.createSession, 'SESS'],
  [codes.create, 'CREA'],
  [codes.delete, 'DELE'],
  [codes.exists, 'EXIS'],
  [codes.getData, 'GETD'],
  [codes.setData, 'SETD'],
  [codes.getACL, 'GETA'],
  [codes.setACL, 'SETA'],
  [codes.getChildren, 'GETC'],
  [codes.sync, 'SYNC'],
  [codes.ping, 'PING'],
  [codes.getChildren2, 'GETC'],
  [codes.check, 'CHEC'],
  [codes.multi, 'MULT'],
  [codes.create2, 'CREA'],
  [codes.reconfig, 'RECO'],
  [codes.checkWatches, 'CHKW'],
  [codes.removeWatches, 'REMW'],
  [codes.createContainer, 'CREA'],
  [codes.deleteContainer, 'DELE'],
  [codes.createTTL, 'CREA'],
  [codes.multiRead, 'MLTR'],
  [codes.setWatches, 'SETW'],
  [codes.getEphemerals, 'GETE'],
  [codes.getAllChildrenNumber, 'GETACN'],
  [codes.setWatches2, 'STW2'],
  [codes.addWatch, 'ADDW'],
  [codes.whoAmI, 'HOMI'],
])

export function operationCode(operation: number): string {
  return operationCodes.get(operation) ?? 'NA'
}
