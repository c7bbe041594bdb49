import { setTimeout as delay } from 'node:timers/promises'
import type { Request } from '../program/program.ts'
import { decodeReply } from '../wire/decode.ts'
import { encodeRequest, pingFrame } from '../wire/encode.ts'
import { xids } from '../wire/opcodes.ts'
import { xidOf, type Frame } from './connection.ts'
import type { Stage } from './stage.ts'
import { listOf, type Received, type StepResult } from './transcript.ts'

/** How long a server may take to close a connection after announcing it. */
export const closingMs = 1500

/**
 * Sends requests all at once and records their replies, and everything that arrives before the last
 * one.
 */
export async function send(
  stage: Stage,
  index: number,
  requests: readonly Request[],
  result: StepResult,
): Promise<void> {
  const connection = stage.liveConnection(index)
  const slot = stage.slots[index]
  if (connection === undefined || slot === undefined) {
    result.skipped = true
    return
  }
  const received = listOf(result, index)
  for (const frame of connection.take()) {
    received.push({ late: tell(stage, frame, undefined) })
  }
  const isReply = (frame: Frame) => {
    const xid = xidOf(frame)
    if (xid === xids.notification) return false
    return xid !== xids.ping || requests.some((request) => request.op === 'ping')
  }
  const zxidAt = stage.masks.zxidAt.bind(stage.masks)
  const frames = requests.map((request) => {
    const xid = fixedXid(request) ?? ++slot.xid
    return encodeRequest(xid, request, zxidAt)
  })
  connection.send(Buffer.concat(frames))
  const outcome = await connection.until(
    () => connection.frames.filter(isReply).length >= requests.length,
  )
  let replies = 0
  for (const frame of connection.take()) {
    const request = isReply(frame) ? requests[Math.min(replies++, requests.length - 1)] : undefined
    received.push(tell(stage, frame, request?.op))
  }
  if (outcome === 'timeout') received.push({ missing: requests.length - replies })
  if (received.some(announcesClosing)) await connection.untilClosed(closingMs)
  if (requests.some((request) => request.op === 'closeSession')) {
    if (!(await connection.untilClosed(closingMs))) {
      received.push({ stillOpen: true })
      connection.drop()
    }
    slot.ended = true
    if (slot.sessionId !== undefined) stage.openSessions.delete(slot.sessionId)
  }
}

export function tell(stage: Stage, frame: Frame, op: string | undefined): Received {
  return 'bad' in frame ? { badFrame: frame.bad } : decodeReply(frame.bytes, op, stage.masks)
}

/** Waits and keeps every session alive. */
export async function keepAlive(stage: Stage, ms: number): Promise<void> {
  const deadline = Date.now() + ms
  while (Date.now() < deadline) {
    stage.slots.forEach((_, index) => stage.liveConnection(index)?.send(pingFrame))
    await delay(250)
  }
  for (const slot of stage.slots) slot?.connection?.forget((frame) => xidOf(frame) === xids.ping)
}

function fixedXid(request: Request): number | undefined {
  if (request.op === 'auth') return xids.auth
  if (request.op === 'setWatches' || request.op === 'setWatches2') return xids.setWatches
  return undefined
}

/** Unknown operations and failed authentication get a reply, and then the connection is closed. */
function announcesClosing({ xid, zxid, err }: Received): boolean {
  return (err === -6 && zxid === -1) || (xid === xids.auth && err !== 0)
}
