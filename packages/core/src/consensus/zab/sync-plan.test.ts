import { describe, expect, test } from 'vitest'
import type { LoggedTxn } from '../../storage/log/committed-log.ts'
import { planSync, type LeaderStart, type SyncPlan } from './sync-plan.ts'

const nothing = new Uint8Array(0)

/** Transactions as `epoch.counter`, the start of an epoch as `epoch.0`. */
const zxid = (text: string): bigint => {
  const [epoch, counter] = text.split('.').map(BigInt)
  return (epoch! << 32n) | counter!
}

function history(...texts: string[]): LoggedTxn[] {
  return texts.map((text) => ({ zxid: zxid(text), payload: nothing }))
}

/** The packets in one line: the operation, and the transactions after it. */
function told(plan: SyncPlan): string {
  if (plan.kind === 'snap') return 'SNAP'
  const show = (value: bigint): string => `${value >> 32n}.${value & 0xffffffffn}`
  const txns = plan.txns.map((txn) => ` ${show(txn.zxid)}`).join('')
  return `${plan.kind.toUpperCase()} ${show(plan.zxid)}${txns === '' ? '' : ` +${txns}`}`
}

/** A leader that began with the history of an epoch none of the learners was in. */
const elsewhere = { epoch: 77n, zxid: 0n }

const plan = (
  learner: string,
  ours: LoggedTxn[],
  lastApplied: string,
  start: LeaderStart = elsewhere,
): string => told(planSync(zxid(learner), ours, zxid(lastApplied), start))

describe('within one epoch', () => {
  const ours = history('1.3', '1.4', '1.5', '1.6')

  test('a learner that has everything gets an empty DIFF', () => {
    expect(plan('1.6', ours, '1.6')).toBe('DIFF 1.6')
    expect(plan('1.6', ours, '2.0')).toBe('DIFF 1.6')
  })

  test('a learner that lacks some gets those', () => {
    expect(plan('1.4', ours, '1.6')).toBe('DIFF 1.6 + 1.5 1.6')
    expect(plan('1.3', ours, '2.0')).toBe('DIFF 1.6 + 1.4 1.5 1.6')
  })

  test('a learner that has more forgets it', () => {
    expect(plan('1.9', ours, '1.6')).toBe('TRUNC 1.6')
    expect(plan('1.9', ours, '2.0')).toBe('TRUNC 1.6')
  })

  test('a learner from before our memory gets everything', () => {
    expect(plan('1.2', ours, '1.6')).toBe('SNAP')
    expect(plan('0.0', ours, '1.6')).toBe('SNAP')
  })

  test('a learner that lacks an unavailable transaction gets a snapshot', () => {
    expect(plan('1.0', [], '1.1')).toBe('SNAP')
    expect(plan('1.4', [], '1.5')).toBe('SNAP')
    expect(plan('1.4', [], '2.0')).toBe('SNAP')
  })

  test('a learner whose history is useless gets a snapshot', () => {
    expect(told(planSync(-1n, ours, zxid('1.6'), elsewhere))).toBe('SNAP')
    expect(told(planSync(-1n, [], 0n, elsewhere))).toBe('SNAP')
  })
})

describe('across epochs', () => {
  const ours = history('1.6', '1.7', '3.1', '3.2')

  test('all transactions after the last common one are sent, of any epoch', () => {
    expect(plan('1.6', ours, '3.2')).toBe('DIFF 3.2 + 1.7 3.1 3.2')
    expect(plan('1.7', ours, '4.0')).toBe('DIFF 3.2 + 3.1 3.2')
  })

  test('an unknown tail of an earlier epoch is not cut off but replaced with everything', () => {
    expect(plan('1.9', ours, '3.2')).toBe('SNAP')
    expect(plan('2.1', ours, '3.2')).toBe('SNAP')
  })

  test('an unknown transaction between two of one epoch is cut off, and the rest follows', () => {
    expect(plan('1.3', history('1.2', '1.4', '1.5'), '1.5')).toBe('TRUNC 1.2 + 1.4 1.5')
  })

  test("a tail after the leader's last transaction is cut off", () => {
    expect(plan('3.5', ours, '4.0')).toBe('TRUNC 3.2')
  })

  test('a learner that entered an epoch and has nothing of it gets all of it', () => {
    expect(plan('3.0', ours, '3.2')).toBe('DIFF 3.2 + 3.1 3.2')
  })

  test('a learner that entered an epoch unknown to the leader may hold more', () => {
    expect(plan('2.0', ours, '3.2')).toBe('SNAP')
  })

  test('so may one that entered the epoch with which memory begins', () => {
    expect(plan('3.0', history('3.1', '3.2'), '3.2')).toBe('DIFF 3.2 + 3.1 3.2')
    expect(plan('3.0', history('3.2', '3.3'), '3.3')).toBe('SNAP')
  })

  test('a learner that entered an unknown epoch gets a snapshot', () => {
    expect(plan('4.0', ours, '5.0')).toBe('SNAP')
  })
})

describe('after an epoch without transactions', () => {
  const ours = history('1.6', '1.7')
  const start = { epoch: 3n, zxid: zxid('1.7') }

  test('a learner that ended in it, as the leader did, is up to date', () => {
    expect(plan('3.0', ours, '4.0', start)).toBe('DIFF 3.0')
    expect(plan('3.0', ours, '4.0', { epoch: 3n, zxid: zxid('3.0') })).toBe('DIFF 3.0')
  })

  test('who ended in it gets what the leader has proposed since', () => {
    expect(plan('3.0', history('1.7', '4.1', '4.2'), '4.2', start)).toBe('DIFF 4.2 + 4.1 4.2')
    expect(plan('3.0', history('4.1', '4.2'), '4.2', start)).toBe('DIFF 4.2 + 4.1 4.2')
    expect(plan('3.0', history('4.2', '4.3'), '4.3', start)).toBe('SNAP')
    expect(plan('3.0', [], '4.3', start)).toBe('SNAP')
  })

  test('who ended in an epoch that the leader was not in gets everything', () => {
    expect(plan('2.0', ours, '4.0', start)).toBe('SNAP')
    expect(plan('5.0', ours, '6.0', start)).toBe('SNAP')
  })

  test('who has less of it than the leader had at its start gets that as well', () => {
    const longer = history('1.7', '3.1', '3.2')
    expect(plan('3.0', longer, '4.0', { epoch: 3n, zxid: zxid('3.2') })).toBe('DIFF 3.2 + 3.1 3.2')
  })

  test('an empty server was in none, and gets everything', () => {
    expect(plan('0.0', [], '1.0', { epoch: 0n, zxid: 0n })).toBe('SNAP')
  })
})

describe('without any history in memory', () => {
  test('one who lacks the first transaction of the epoch gets everything', () => {
    expect(plan('2.0', [], '2.1')).toBe('SNAP')
    expect(plan('2.0', [], '2.1', { epoch: 2n, zxid: zxid('2.1') })).toBe('SNAP')
  })

  test('only who is where we are is up to date', () => {
    expect(plan('0.0', [], '0.0')).toBe('DIFF 0.0')
    expect(plan('2.5', [], '2.5')).toBe('DIFF 2.5')
    expect(plan('2.4', [], '2.5')).toBe('SNAP')
    expect(plan('0.0', [], '1.0')).toBe('SNAP')
  })

  test('a tail is cut off after the last transaction of all', () => {
    expect(plan('2.7', [], '2.5')).toBe('TRUNC 2.5')
  })

  test('nothing is cut off after the mere start of an epoch, which is in no log', () => {
    expect(plan('3.2', [], '3.0')).toBe('SNAP')
    expect(plan('1.2', [], '0.0')).toBe('SNAP')
  })
})
