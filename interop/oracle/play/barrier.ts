import { setTimeout as delay } from 'node:timers/promises'
import { decodeReply, headerZxid } from '../wire/decode.ts'
import { encodeRequest, pingFrame } from '../wire/encode.ts'
import { xids } from '../wire/opcodes.ts'
import { patienceMs, xidOf, type Frame } from './connection.ts'
import { tell } from './send.ts'
import type { Slot, Stage } from './stage.ts'
import { listOf, type StepResult } from './transcript.ts'

const firstBarrierXid = 0x70000000

/**
 * Waits for everything that each open connection has been sent by now: the reply to a ping comes
 * after it. The members of an ensemble apply a change at different times, so there all are asked
 * until they have seen what one has. (A sync would not do: its reply may have an older zxid.)
 */
export async function barrier(stage: Stage, result: StepResult): Promise<void> {
  const { settleMs, barrier: kind } = stage.options
  if (settleMs > 0) await delay(settleMs)
  const live = [...stage.slots.entries()].filter(
    (entry): entry is [number, Slot] => entry[1]?.connection !== undefined && !entry[1].gone,
  )
  const deadline = Date.now() + patienceMs
  for (let round = 0; ; round++) {
    const xid = kind === 'ping' ? xids.ping : firstBarrierXid + round
    await Promise.all(live.map(([index, slot]) => ask(stage, result, index, slot, xid)))
    const behind = live.some(
      ([, slot]) => slot.up && !slot.gone && slot.reached < stage.masks.highest,
    )
    if (kind === 'ping' || !behind) return
    if (Date.now() > deadline) {
      result.behind = true
      return
    }
    if (round > 0) await delay(5)
  }
}

async function ask(
  stage: Stage,
  result: StepResult,
  index: number,
  slot: Slot,
  xid: number,
): Promise<void> {
  const { connection } = slot
  if (connection === undefined || slot.gone) return
  const isMine = (frame: Frame) => xidOf(frame) === xid
  if (!connection.closed && slot.up) {
    connection.send(xid === xids.ping ? pingFrame : question(xid))
    const outcome = await connection.until(() => connection.frames.some(isMine))
    if (outcome === 'timeout') {
      // Gives up a connection that does not answer.
      listOf(result, index).push({ barrier: 'no answer' })
      connection.drop()
    }
    const answer = connection.frames.find(isMine)
    if (answer !== undefined && 'bytes' in answer && answer.bytes.length >= 12) {
      slot.reached = headerZxid(answer.bytes)
    }
  }
  takeAll(stage, result, index, slot, xid)
}

function takeAll(stage: Stage, result: StepResult, index: number, slot: Slot, xid: number): void {
  const received = listOf(result, index)
  for (const frame of slot.connection?.take() ?? []) {
    // In an ensemble only the zxid of these replies matters, and decoding records it.
    const isBarrier = xid !== xids.ping && (xidOf(frame) ?? 0) >= firstBarrierXid
    if (isBarrier && 'bytes' in frame) decodeReply(frame.bytes, 'exists', stage.masks)
    else received.push(tell(stage, frame, 'ping'))
  }
  if (slot.connection?.closed === true) {
    received.push({ closed: true })
    slot.up = false
    slot.gone = true
  }
  if (received.length === 0) delete result.received[index]
}

function question(xid: number): Buffer {
  return encodeRequest(xid, { op: 'exists', path: '/', watch: false }, () => 0n)
}
