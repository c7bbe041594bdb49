import { expect, test } from 'vitest'
import { parseMembership, type Membership } from './membership.ts'
import { MembershipState } from './membership-state.ts'

function config(version: number, ...ids: number[]): Membership {
  const lines = ids.map((id) => `server.${id}=s${id}:1:2:participant`)
  const parsed = parseMembership([...lines, `version=${version.toString(16)}`].join('\n'))
  if ('problem' in parsed) throw new Error(parsed.problem)
  return parsed.value
}

const first = config(1, 1, 2, 3)
const second = config(2, 1, 2, 4)
const third = config(3, 1, 4, 5)

function state(): MembershipState {
  return new MembershipState(first, { isEnabled: true })
}

test('a configuration in the log is committed once another follows it there', () => {
  const configs = state()
  configs.seeLogged(second)
  expect([configs.committed, configs.seen]).toEqual([first, second])
  configs.seeLogged(third)
  expect([configs.committed, configs.seen]).toEqual([second, third])
  expect([...configs.verifier.voters]).toEqual([1n, 2n, 4n, 5n])
})

test('a configuration that other servers report does not commit the one before it', () => {
  const configs = state()
  configs.see(second)
  configs.seeLogged(third)
  expect([configs.committed, configs.seen]).toEqual([first, third])
})

test('a configuration truncated from the log is not committed by its replacement', () => {
  const configs = state()
  configs.seeLogged(second)
  configs.setLogged(first)
  expect([configs.committed, configs.seen]).toEqual([first, undefined])
  configs.seeLogged(third)
  expect([configs.committed, configs.seen]).toEqual([first, third])
})
