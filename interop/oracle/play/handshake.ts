import type { Handshake, Value } from '../program/program.ts'
import { encodeConnect } from '../wire/encode.ts'
import { StrictReader } from '../wire/strict-reader.ts'
import { Connection, patienceMs, type Frame } from './connection.ts'
import { closingMs, send, tell } from './send.ts'
import { emptySlot, type Slot, type Stage } from './stage.ts'
import { listOf, newResult, type Received, type StepResult } from './transcript.ts'

export interface Opening {
  readonly how: Handshake
  readonly timeout: number
  readonly ro?: number | undefined
  readonly proto?: number
}

export const plainOpening: Opening = { how: 'new', timeout: 20000, ro: 0 }

/** Handshakes that present the slot's own session. */
const resuming = new Set<Handshake>(['same', 'badpw', 'future'])
/** Handshakes that may make the server close the session's older connection. */
const stealing = new Set<Handshake>(['same', 'badpw'])

/**
 * Opens a connection for a slot and sends the handshake; records the result, and the end of the old
 * connection.
 */
export async function openSession(
  stage: Stage,
  index: number,
  opening: Opening,
  result: StepResult,
): Promise<void> {
  if (stage.liveConnection(index) !== undefined && !resuming.has(opening.how)) {
    // Handshakes that must not leave a session.
    await send(stage, index, [{ op: 'closeSession' }], newResult())
  }
  const old = stage.slots[index]
  const received = listOf(result, index)
  const connection = new Connection(stage.addressOf(index))
  if (!(await connection.ready)) {
    received.push({ connect: 'refused' })
    stage.slots[index] = { ...(old ?? emptySlot()), connection, up: false, gone: true, xid: 0 }
    return
  }
  connection.send(encodeConnect(fieldsOf(stage, old, opening)))
  const patience = opening.how === 'short' ? closingMs : patienceMs
  const outcome = await connection.until(() => connection.frames.length > 0, patience)
  await leaveOldConnection(stage, old, opening.how, received)

  const slot: Slot = { ...(old ?? emptySlot()), connection, up: false, gone: false, xid: 0 }
  stage.slots[index] = slot
  const answer = connection.takeFirst()
  if (answer === undefined) {
    received.push({ connect: outcome })
    giveUp(slot)
    return
  }
  await readAnswer(stage, slot, answer, resumes(old, opening.how), received)
}

/** Whether the slot has a session for the handshake. */
function resumes(old: Slot | undefined, how: Handshake): boolean {
  if (old?.sessionId === undefined) return false
  return resuming.has(how) && (!old.ended || how === 'same')
}

function fieldsOf(stage: Stage, old: Slot | undefined, { how, timeout, ro, proto }: Opening) {
  const future = stage.masks.zxidAt('future')
  const zeros: Value = { n: 16, fill: 0 }
  const fields = {
    proto: proto ?? 0,
    lastZxid: how === 'future' ? future : 0n,
    timeout,
    sessionId: 0n,
    password: zeros as Value,
    ro,
    cut: how === 'short' ? 10 : 0,
  }
  if (resumes(old, how)) {
    fields.sessionId = old?.sessionId ?? 0n
    fields.password = { hex: how === 'badpw' ? `${'00'.repeat(15)}01` : (old?.password ?? '') }
    if (how !== 'future') fields.lastZxid = stage.masks.highest
  } else if (how === 'bogus') {
    fields.sessionId = 0x1234567890abcdefn
    fields.password = { hex: '11'.repeat(16) }
  } else if (how === 'nullpw') {
    fields.password = null
  } else if (how === 'longpw') {
    fields.password = { n: 40, fill: 1 }
  }
  return fields
}

/**
 * Records what arrived on the connection that a new one replaces, and whether the server closed it.
 */
async function leaveOldConnection(
  stage: Stage,
  old: Slot | undefined,
  how: Handshake,
  received: Received[],
): Promise<void> {
  if (old?.connection === undefined || old.gone) return
  const closed = !stealing.has(how) || (await old.connection.untilClosed(closingMs))
  for (const frame of old.connection.take()) received.push({ old: tell(stage, frame, undefined) })
  if (!closed) received.push({ oldStillOpen: true })
  old.connection.drop()
}

async function readAnswer(
  stage: Stage,
  slot: Slot,
  answer: Frame,
  resumed: boolean,
  received: Received[],
): Promise<void> {
  const bytes = 'bytes' in answer ? answer.bytes : Buffer.alloc(0)
  const reader = new StrictReader(bytes)
  try {
    const proto = reader.int()
    const timeout = reader.int()
    const sessionId = reader.long()
    const password = reader.buffer()
    const session = stage.masks.session(sessionId)
    const ro = reader.rest().toString('hex')
    received.push({ connected: { proto, timeout, session, password: maskPassword(password), ro } })
    if (sessionId === 0n) {
      const closed = await slot.connection?.untilClosed(closingMs)
      received.push({ after: closed === true ? 'closed' : 'open' })
      giveUp(slot)
      slot.ended = true
      return
    }
    const hex = password?.toString('hex') ?? ''
    const isSame = sessionId === slot.sessionId
    if (resumed && isSame && hex !== slot.password) received.push({ passwordChanged: true })
    stage.openSessions.set(sessionId, hex)
    Object.assign(slot, { up: true, sessionId, password: hex, ended: false })
  } catch {
    received.push({ connect: 'bad' in answer ? answer.bad : bytes.toString('hex') })
    giveUp(slot)
  }
}

function maskPassword(password: Buffer | null): string | null {
  if (password === null) return null
  return (password.every((byte) => byte === 0) ? 'zero' : 'pw') + password.length
}

function giveUp(slot: Slot): void {
  slot.connection?.drop()
  slot.gone = true
}
