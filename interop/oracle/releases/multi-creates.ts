import { SeenZxid, type Received, type Told } from '../play/transcript.ts'
import type { Request } from '../program/program.ts'
import { withoutRequests } from '../replies.ts'
import { answered, forget, withStep, type Answered } from './release-difference.ts'
import type { ReleaseDifference } from './release-difference.ts'

const marshallingError = -5
const lastMode = 6
const ttlModes = new Set([5, 6])

/** 3.8 looks only at the flags, not at which create it was. */
export const create2InMulti: ReleaseDifference = {
  name: 'create2 in a multi is answered with a stat',
  since: '3.7.2, 3.8.2, 3.9.0',
  why: 'Before, a create2 inside a multi was answered as a create: the path alone.',
  level(step, older, newer) {
    let count = 0
    for (const { request, older: theirs, newer: ours } of answered(step, older, newer)) {
      if (request.op !== 'multi') continue
      const [before, since] = [resultsOf(theirs), resultsOf(ours)]
      for (const [index, part] of request.ops.entries()) {
        const [a, b] = [before[index], since[index]]
        if (part.op !== 'create2' || a?.['type'] !== 'create' || b?.['type'] !== 'create2') continue
        b['type'] = 'create'
        delete b['stat']
        count++
      }
    }
    return count
  },
}

export const flagsInMulti: ReleaseDifference = {
  name: 'flags that are no mode of the operation fail a multi as a whole',
  since: '3.7.2, 3.8.2, 3.9.0',
  why: `Before, a create with unknown flags, or with a TTL's and no TTL, failed inside a multi as
    one of its parts; since, the whole request counts as one that cannot be decoded.`,
  level(step, older, newer) {
    return forgetAll(this.name, answered(step, older, newer).filter(failsAsWhole(hasNoMode)))
  },
}

export const nullAclInMulti: ReleaseDifference = {
  name: 'a null ACL fails a multi as a whole',
  since: 'after 3.8.0',
  why: `Before, a create without an ACL failed inside a multi as one of its parts; since, the whole
    request counts as one that cannot be decoded, and costs no zxid.`,
  level(step, older, newer) {
    return forgetAll(this.name, answered(step, older, newer).filter(hasNullAcl))
  },
}

/**
 * Whether a multi fails in one part in the older release, and because of its null ACL in the newer.
 */
export const hasNullAcl = failsAsWhole((part) => 'acl' in part && part.acl === null)

function failsAsWhole(isCause: (part: Request) => boolean): (pair: Answered) => boolean {
  return ({ request, older, newer }) => {
    if (request.op !== 'multi' || !request.ops.some(isCause)) return false
    const failedInPart = resultsOf(older).some((result) => 'error' in result)
    return failedInPart && newer['err'] === marshallingError
  }
}

function forgetAll(name: string, pairs: readonly Answered[]): number {
  for (const pair of pairs) forget(pair, name)
  return pairs.length
}

export const nullPathInMulti: ReleaseDifference = {
  name: 'a null path in a multi costs a zxid',
  since: 'after 3.8.0',
  why: `Both answer that the request cannot be decoded. 3.8 spends no zxid on it, and sends an empty
    list of results with the error.`,
  without(program, at, older, newer) {
    const step = program.steps[at]
    if (step === undefined) return undefined
    const found = answered(step, older, newer).some((pair) => {
      const { body } = pair.older
      return isNullPathMulti(pair.request) && body !== undefined && areUndecodable(pair)
    })
    return found ? withStep(program, at, withoutRequests(step, isNullPathMulti)) : undefined
  },
}

/** Whether both sides report that the request cannot be decoded. */
export function areUndecodable({ older, newer }: Answered): boolean {
  return older['err'] === marshallingError && newer['err'] === marshallingError
}

function isNullPathMulti(request: Request): boolean {
  if (request.op !== 'multi') return false
  return request.ops.some((part) => 'path' in part && part.path === null)
}

function resultsOf(reply: Received): Received[] {
  const { results } = reply
  if (!Array.isArray(results)) return []
  return results.filter((result: Told): result is Received => {
    return typeof result === 'object' && result !== null && !(result instanceof SeenZxid)
  })
}

function flagsOf(part: Request): number | undefined {
  return 'flags' in part ? part.flags : undefined
}

function hasNoMode(part: Request): boolean {
  const flags = flagsOf(part)
  if (flags === undefined) return false
  return flags < 0 || flags > lastMode || (ttlModes.has(flags) && part.op !== 'createTTL')
}
