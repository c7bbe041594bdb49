import { expect, test } from 'vitest'
import { digestComplaints } from './digests.ts'

const warning = 'WARN DataTree - Message:Digests are not matching. Value is Zxid. Value:7'

test('a digest that does not match is a complaint, of Apache as of zabra', () => {
  const lines = [
    `[main] ${warning}`,
    'error tree: digest differs from that of the leader zxid=0x7 digest=1 expected=2',
    'all is well',
  ]
  expect(digestComplaints(lines.join('\n'))).toEqual(lines.slice(0, 2))
})

test('an Apache learner amid a snapshot complains for nothing, and not of the next diff', () => {
  const learner = `[QuorumPeer[myid=2]] ${warning}`
  const log = [
    '[QuorumPeer[myid=2]] INFO Learner - Getting a snapshot from leader 0x1',
    learner,
    `[main] ${warning}`,
    '[QuorumPeer[myid=2]] INFO Learner - Getting a diff from the leader 0x2',
    `${learner}1`,
  ]
  expect(digestComplaints(log.join('\n'))).toEqual([`[main] ${warning}`, `${learner}1`])
})
