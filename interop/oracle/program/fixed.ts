/** Hand-written programs: requests that would end Apache, and so cannot be in random programs. */
import { openAcl, programRoot, type Program, type Request, type Step } from './program.ts'

const opening: Step[] = [0, 1].map((session) => {
  return { do: 'connect', session, how: 'new', timeout: 20000, ro: 0 }
})

const createRoot: Request = { op: 'create', path: programRoot, data: 'd', acl: openAcl, flags: 0 }

function story(name: string, requests: readonly Request[]): Program {
  const after: Request = { op: 'getData', path: programRoot, watch: false }
  const steps = [createRoot, ...requests, after].map((request): Step => {
    return { do: 'op', session: 0, request }
  })
  return { seed: name, profile: 'fixed', steps: [...opening, ...steps] }
}

const ttlNode = (flags: number, ttl: string): Request => {
  return { op: 'createTTL', path: `${programRoot}/t`, data: 'd', acl: openAcl, flags, ttl }
}

const rootQuota = (name: string): Request => {
  return {
    op: 'create',
    path: `/zookeeper/quota/${name}`,
    data: 'count=1,bytes=1',
    acl: openAcl,
    flags: 0,
  }
}

export const fixedPrograms: readonly Program[] = [
  story('create-session', [{ op: 'createSession', timeout: 20000 }]),
  story('delete-container', [
    { op: 'create', path: `${programRoot}/n`, data: 'd', acl: openAcl, flags: 0 },
    { op: 'deleteContainer', path: `${programRoot}/n` },
  ]),
  {
    seed: 'wrong-password',
    profile: 'fixed',
    steps: [
      ...opening,
      { do: 'op', session: 0, request: createRoot },
      { do: 'connect', session: 1, how: 'badpw', timeout: 20000, ro: 0 },
      { do: 'op', session: 0, request: { op: 'exists', path: programRoot, watch: false } },
    ],
  },
  story('ttl-out-of-range', [ttlNode(5, '0'), ttlNode(5, '-1'), ttlNode(5, '1099511627776')]),
  story('ttl-negative-with-other-flags', [ttlNode(0, '-1')]),
  story('check-alone', [{ op: 'check', path: programRoot, version: 0 }]),
  story('quota-limits-on-root', [rootQuota('zookeeper_limits')]),
  story('quota-stats-on-root', [rootQuota('zookeeper_stats')]),
]
