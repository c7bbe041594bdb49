/**
 * Plays one program on one server (or ensemble), step by step. After each step a barrier collects
 * what every connection was sent, so the transcript does not depend on timing.
 */
import { openAcl, type Program, type Step } from '../program/program.ts'
import { barrier } from './barrier.ts'
import { xidOf } from './connection.ts'
import { tellFourLetters } from './four-letters.ts'
import { openSession, plainOpening } from './handshake.ts'
import { cleanUp, harvest } from './harvest.ts'
import { sortedBy } from './masks.ts'
import { keepAlive, send, tell } from './send.ts'
import { Stage, type PlayOptions, type Target } from './stage.ts'
import { isNotification, listOf, newResult } from './transcript.ts'
import type { StepResult, Transcript } from './transcript.ts'

/** When sessions with the shortest timeout have expired, with a tick of 1000 ms. */
const expiryMs = 4300
const rawReplyMs = 400
/** The steps before this one open the sessions and create the first nodes. */
const firstRandomStep = 6

/**
 * Returns one result per step, and a last one with the remaining tree; zxids are not ranked yet.
 * Never throws.
 */
export async function play(
  program: Program,
  target: Target,
  options: PlayOptions,
): Promise<Transcript> {
  const stage = new Stage(program, target, options)
  const transcript: Transcript = []
  const { steps } = program
  try {
    for (const [at, step] of steps.entries()) {
      if (Date.now() > options.deadline) throw new Error('the program ran out of time')
      if (at === firstRandomStep) stage.masks.mark('start')
      if (at === steps.length >> 1) stage.masks.mark('mid')
      const result = newResult()
      await playStep(stage, step, result)
      await barrier(stage, result)
      if (deletesInNoOrder(step)) sortNotifications(result)
      transcript.push(result)
    }
    const left = await harvest(stage)
    transcript.push(left.result)
    left.result.end = await cleanUp(stage, left)
  } catch (error) {
    const playerError = error instanceof Error ? (error.stack ?? error.message) : String(error)
    transcript.push({ ...newResult(), playerError })
  } finally {
    for (const slot of stage.slots) slot?.connection?.drop()
  }
  return transcript
}

async function playStep(stage: Stage, step: Step, result: StepResult): Promise<void> {
  switch (step.do) {
    case 'op':
      return send(stage, step.session, [stage.rebase(step.request)], result)
    case 'burst': {
      const requests = step.requests.map((request) => stage.rebase(request))
      return send(stage, step.session, requests, result)
    }
    case 'connect':
      return openSession(stage, step.session, step, result)
    case 'revive':
      return revive(stage, step.session, result)
    case 'drop':
      return stage.drop(step.session)
    case 'raw':
      return sendRaw(stage, step.session, step.hex, result)
    case 'expire':
      return expire(stage, step.session, result)
    case 'restart':
      return restart(stage, step.hard, result)
    case 'wait':
      return keepAlive(stage, step.ms)
    case 'flw':
      result.fourLetters = await tellFourLetters(stage, step.word)
  }
}

async function revive(stage: Stage, index: number, result: StepResult): Promise<void> {
  if (stage.liveConnection(index) !== undefined) return
  const slot = stage.slots[index]
  const how = slot?.sessionId !== undefined && !slot.ended ? 'same' : 'new'
  await openSession(stage, index, { ...plainOpening, how }, result)
}

async function sendRaw(
  stage: Stage,
  index: number,
  hex: string,
  result: StepResult,
): Promise<void> {
  const connection = stage.liveConnection(index)
  if (connection === undefined) return
  connection.send(Buffer.from(hex, 'hex'))
  const hasReply = () => connection.frames.some((frame) => xidOf(frame) !== -1)
  const outcome = await connection.until(hasReply, rawReplyMs)
  const received = listOf(result, index)
  for (const frame of connection.take()) received.push(tell(stage, frame, undefined))
  if (outcome === 'timeout') received.push({ raw: 'open' })
  // The framing of the connection is lost.
  stage.drop(index)
}

async function expire(stage: Stage, index: number, result: StepResult): Promise<void> {
  const { root } = stage.options
  const ephemeral = { data: 'e', acl: openAcl }
  await openSession(stage, index, { how: 'new', timeout: 1, ro: 0 }, result)
  await send(
    stage,
    index,
    [
      { op: 'create', path: `${root}/exp`, ...ephemeral, flags: 1 },
      { op: 'create', path: `${root}/a/exp`, ...ephemeral, flags: 3 },
    ],
    result,
  )
  // The watching session may have other watches; their events must not race with its requests.
  await barrier(stage, result)
  await send(
    stage,
    (index + 1) % stage.slots.length,
    [
      { op: 'exists', path: `${root}/exp`, watch: true },
      { op: 'getChildren', path: root, watch: true },
    ],
    result,
  )
  const slot = stage.slots[index]
  if (slot?.up === true) {
    stage.drop(index)
    slot.ended = true
  }
  await keepAlive(stage, expiryMs)
}

async function restart(stage: Stage, hard: boolean, result: StepResult): Promise<void> {
  if (!stage.target.canRestart) return
  stage.slots.forEach((_, index) => stage.drop(index))
  await stage.target.restart(hard)
  for (const [index, slot] of stage.slots.entries()) {
    if (slot?.sessionId === undefined || slot.ended) continue
    await openSession(stage, index, { ...plainOpening, how: 'same' }, result)
  }
  if (stage.target.addresses.length > 1) await beginEpoch(stage)
}

/**
 * Makes a transaction, so that all members have the same zxid. A leader reports the zxid of the new
 * epoch at once; Apache's followers report the old one until something is written.
 */
async function beginEpoch(stage: Stage): Promise<void> {
  const index = stage.slots.length
  await openSession(stage, index, plainOpening, newResult())
  await send(stage, index, [{ op: 'closeSession' }], newResult())
  stage.slots.length = index
}

/** The end of a session deletes its ephemerals in no defined order. */
function deletesInNoOrder(step: Step): boolean {
  if (step.do === 'op') return step.request.op === 'closeSession'
  return ['connect', 'expire', 'restart', 'wait'].includes(step.do)
}

function sortNotifications(result: StepResult): void {
  for (const received of Object.values(result.received)) {
    const notifications = received.filter(isNotification)
    const sorted = sortedBy(notifications, ({ type, path }) => JSON.stringify([type, path]))
    received.forEach((one, at) => {
      if (isNotification(one)) received[at] = sorted.shift() ?? one
    })
  }
}
