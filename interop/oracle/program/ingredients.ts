/**
 * The parts of random requests. Changing the order or length of a list changes what a seed means.
 */
import { createHash } from 'node:crypto'
import { openAcl, type AclEntry, type Profile, type RequestName, type Value } from './program.ts'

/** The identity that the digest scheme derives from `user:password`. */
export function digestOf(userAndPassword: string): string {
  const [user] = userAndPassword.split(':')
  return `${user}:${createHash('sha1').update(userAndPassword).digest('base64')}`
}

/** The super user of every server that the oracle starts. */
export const superUser = 'super:test'

export const names = ['a', 'b', 'c', 'x1', 'é', 'long-name-0123456789']

/** Paths that are invalid, or valid but reserved, below or beside the given path. */
export function oddPaths(p: string): Value[] {
  const below = Buffer.from(`${p}/`, 'utf8').toString('hex')
  const badForm = [
    '',
    `${p}/`,
    `/${p}`,
    `${p}//a`,
    `${p}/./a`,
    `${p}/..`,
    `${p}/../a`,
    'relative',
    `${p}/a/`,
  ]
  const badCharacter = [
    '\u0001',
    'a\u0000b',
    '\u007f',
    '\u009f',
    '\uf8ff',
    '\ufff0',
    '\ue000',
    '\ud7ff',
  ]
  const badUtf8 = ['ff', 'eda080', 'f09f9880'].map((tail) => ({ hex: below + tail }))
  const reserved = ['/', '/zookeeper', '/zookeeper/config', '/zookeeper/quota', '/zookeeper/none']
  return [
    ...badForm,
    ...badCharacter.map((tail) => `${p}/${tail}`),
    null,
    ...badUtf8,
    `${p}/${'n'.repeat(300)}`,
    ...reserved,
  ]
}

const one = (perms: number, scheme: string | null, id: string | null): AclEntry[] => [
  { perms, scheme, id },
]

/** Mostly open, so that a node stays usable after its ACL was changed. */
export const acls: (readonly AclEntry[] | null)[] = [
  ...Array.from({ length: 14 }, () => openAcl),
  ...[1, 30, 15, 27].map((perms) => one(perms, 'world', 'anyone')),
  one(31, 'auth', ''),
  one(31, 'auth', 'ignored'),
  one(31, 'digest', digestOf('u1:p1')),
  one(5, 'digest', digestOf('u2:p2')),
  one(31, 'digest', 'nohash'),
  one(31, 'digest', 'a:b:c'),
  one(31, 'ip', '127.0.0.1'),
  one(31, 'ip', '127.0.0.0/8'),
  one(31, 'ip', '10.1.2.3'),
  one(31, 'ip', 'bogus'),
  one(31, 'ip', '127.0.0.1/99'),
  [],
  null,
  one(0, 'world', 'anyone'),
  one(63, 'world', 'anyone'),
  one(31, 'world', 'someone'),
  one(31, 'nosuch', 'x'),
  one(31, 'super', 'x'),
  one(31, null, null),
  one(31, 'sasl', 'me'),
  one(31, 'x509', 'CN=x'),
  [...one(1, 'world', 'anyone'), ...one(2, 'world', 'anyone')],
  [...openAcl, ...openAcl],
  [...one(4, 'ip', '127.0.0.1'), ...one(1, 'world', 'anyone')],
]

export const authentications: { scheme: Value; auth: Value }[] = [
  { scheme: 'digest', auth: 'u1:p1' },
  { scheme: 'digest', auth: 'u1:p1' },
  { scheme: 'digest', auth: 'u2:p2' },
  { scheme: 'digest', auth: superUser },
  { scheme: 'ip', auth: '' },
  { scheme: 'digest', auth: 'noColon' },
  { scheme: 'world', auth: 'anyone' },
  { scheme: 'nosuch', auth: 'x' },
  { scheme: null, auth: null },
  { scheme: 'digest', auth: '' },
  { scheme: 'digest', auth: null },
]

export const quotaTexts = [
  'count=2,bytes=-1',
  'count=-1,bytes=10',
  'count=1,bytes=1',
  'count=1,bytes=1=;byteHardLimit=20;countHardLimit=2',
  'junk',
  '',
]

export const createFlagChoices = [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6, 7, -1]
export const versionChoices = [-1, -1, -1, -1, -1, -1, 0, 0, 0, 1, 1, 2, 3, -2, 2147483647]
export const ttlChoices = [100000, 100000, 5000000, 3600000, 0, -1, 1099511627775, 1099511627776]
export const unknownOpcodes = [10, 23, 50, 99, 108, 500, -1, -2, -100, 2147483647, 0]
export const oddTimeouts = [0, -1, 1, 999, 1001, 1999, 2001, 20001, 2147483647, -2147483648]
/** Lengths that are negative, too large or too small, and frames with too few bytes. */
export const oddFrames = words(`
  ffffffff 7fffffff 00100000 00000000 00000004 80000000
  0000000400000001 0000000800000001 00000005ffffffff0b
`)
export const fourLetterWords = words(`
  ruok srvr wchs wchp wchc isro dump mntr conf stat cons dirs envi gtmk xxxx
`)

export type Weights = Readonly<Partial<Record<RequestName, number>>>

const general: Weights = {
  create: 14,
  create2: 6,
  delete: 8,
  exists: 8,
  getData: 8,
  setData: 9,
  getACL: 2,
  setACL: 2,
  getChildren: 5,
  getChildren2: 5,
  sync: 1,
  check: 0.3,
  multi: 4,
  multiRead: 2,
  createContainer: 1.5,
  createTTL: 1.5,
  addWatch: 2,
  removeWatches: 1.5,
  checkWatches: 0.5,
  getEphemerals: 1,
  getAllChildrenNumber: 1,
  whoAmI: 0.5,
  setWatches: 0.5,
  setWatches2: 0.5,
  reconfig: 0.2,
  auth: 0.5,
  deleteContainer: 0.3,
  sasl: 0.05,
  rawOp: 0.1,
  ping: 0.2,
}

const watches: Weights = {
  exists: 14,
  getData: 14,
  getChildren: 8,
  getChildren2: 6,
  addWatch: 10,
  removeWatches: 6,
  checkWatches: 2,
  setWatches: 2,
  setWatches2: 4,
  create: 16,
  delete: 14,
  setData: 14,
  multi: 6,
  multiRead: 1,
  auth: 0.1,
}

/** How often each request is made, in each profile. */
export const requestWeights: Readonly<Record<Profile, Weights>> = {
  general,
  watches: { ...general, ...watches },
  multi: { ...general, multi: 35, multiRead: 10 },
  acl: { ...general, setACL: 14, getACL: 10, auth: 8, whoAmI: 3 },
  session: { ...general, create: 20, getEphemerals: 6 },
  malformed: { ...general, rawOp: 1.2, reconfig: 1, sasl: 0.5, check: 2 },
  quota: { ...general, create: 25, setData: 20, delete: 12, multi: 6 },
}

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}
