import { answered, forget, withoutAnswered, type ReleaseDifference } from './release-difference.ts'
import type { Answered } from './release-difference.ts'

const noAuth = -102

export const existsWithoutRead: ReleaseDifference = {
  name: 'exists needs READ',
  since: '3.8.4, 3.9.2',
  why: 'Before, exists told the stat of a node to those who may not read it, and set their watch.',
  level(step, older, newer) {
    const pairs = answered(step, older, newer).filter(isRefusedSince)
    // Only one of the two servers has the watch.
    if (pairs.some(setsWatch)) return 0
    for (const pair of pairs) forget(pair, this.name)
    return pairs.length
  },
  without(program, at, older, newer) {
    const step = program.steps[at]
    if (step === undefined) return undefined
    const refused = answered(step, older, newer).filter(isRefusedSince)
    if (!refused.some(setsWatch)) return undefined
    return withoutAnswered(program, at, refused)
  },
}

function isRefusedSince({ request, older, newer }: Answered): boolean {
  return request.op === 'exists' && older['err'] === 0 && newer['err'] === noAuth
}

function setsWatch({ request }: Answered): boolean {
  return request.op === 'exists' && Boolean(request.watch)
}
