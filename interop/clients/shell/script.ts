import type { Check } from '../catalogue.ts'

/** A command to type, and what its answer must contain. */
export interface Step {
  readonly name: string
  readonly commands: readonly string[]
  readonly wanted: readonly RegExp[]
}

/** In order: later steps use the nodes of earlier ones. */
export const sessionScript: readonly Step[] = [
  step('create', ['create /shell data'], /^Created \/shell$/m),
  step(
    'create -s -e -c -t',
    [
      'create -s /shell/s-',
      'create -e /shell/e eph',
      'create -s -e /shell/es- x',
      'create -c /shell/container',
      'create -t 60000 /shell/ttl',
    ],
    /^Created \/shell\/s-0000000000$/m,
    /^Created \/shell\/e$/m,
    /^Created \/shell\/es-0000000002$/m,
    /^Created \/shell\/container$/m,
    /^Created \/shell\/ttl$/m,
  ),
  step('create twice', ['create /shell again'], /Node already exists: \/shell/),
  step('get', ['get /shell'], /^data$/m),
  step('get -s', ['get -s /shell'], /^data$/m, /^dataVersion = 0$/m, /^numChildren = 5$/m),
  step('set', ['set /shell changed', 'get /shell'], /^changed$/m),
  step('set -v', ['set -v 1 /shell again', 'set -v 1 /shell stale'], /version No is not valid/),
  step('stat', ['stat /shell'], /^cZxid = 0x/m, /^dataVersion = 2$/m, /^dataLength = 5$/m),
  step('stat of e', ['stat /shell/e'], /^ephemeralOwner = 0x[1-9a-f][0-9a-f]*$/m),
  step('ls', ['ls /shell'], /^\[container, e, es-0000000002, s-0000000000, ttl\]$/m),
  step('ls -s', ['ls -s /shell'], /numChildren = 5/),
  step('ls -R', ['ls -R /shell'], /^\/shell\n\/shell\/container\n\/shell\/e$/m),
  step(
    'getEphemerals',
    ['getEphemerals /shell'],
    /^\[.*\/shell\/e[,\]]/m,
    /\/shell\/es-0000000002/,
  ),
  step('getAllChildrenNumber', ['getAllChildrenNumber /shell'], /^5$/m),
  step('sync', ['sync /shell'], /Sync is OK/),
  step('whoami', ['whoami'], /^ip: 127\.0\.0\.1$/m),
  step('addauth', ['addauth digest ann:secret', 'whoami'], /^digest: ann$/m),
  step(
    'setAcl',
    ['create /shell/mine x', 'setAcl /shell/mine auth:ann:secret:cdrwa', 'getAcl /shell/mine'],
    /^'digest,'ann:/m,
    /^: cdrwa$/m,
  ),
  step('getAcl -s', ['getAcl -s /shell/mine'], /^aclVersion = 1$/m),
  step(
    'setAcl -R',
    ['create /tree', 'create /tree/a', 'setAcl -R /tree world:anyone:r', 'getAcl /tree/a'],
    /^'world,'anyone$/m,
    /^: r$/m,
  ),
  step('no auth', ['create /tree/b'], /Insufficient permission ?: \/tree\/b/),
  step(
    'setquota',
    ['create /quota', 'setquota -n 2 /quota', 'setquota -b 100 /quota', 'listquota /quota'],
    /Output quota for \/quota.*count=2,bytes=100/,
    /Output stat for \/quota.*count=1,bytes=0/,
  ),
  step('delquota', ['delquota /quota', 'listquota /quota'], /quota for \/quota does not exist/),
  step(
    'addWatch',
    ['create /watched', 'addWatch /watched', 'create /watched/a', 'set /watched/a x'],
    /type:NodeCreated path:\/watched\/a/,
    /type:NodeDataChanged path:\/watched\/a/,
  ),
  step(
    'addWatch -m PERSISTENT',
    ['create /kept', 'addWatch -m PERSISTENT /kept', 'set /kept 1', 'set /kept 2'],
    /NodeDataChanged path:\/kept[^]*NodeDataChanged path:\/kept/,
  ),
  step(
    'get -w',
    ['create /once 0', 'get -w /once', 'set /once 1', 'sync /once'],
    /NodeDataChanged path:\/once/,
  ),
  step(
    'ls -w',
    ['create /parent', 'ls -w /parent', 'create /parent/a', 'sync /parent'],
    /NodeChildrenChanged path:\/parent/,
  ),
  step(
    'stat -w',
    ['stat -w /parent/a', 'delete /parent/a', 'sync /parent'],
    /NodeDeleted path:\/parent\/a/,
  ),
  step(
    'removewatches',
    ['removewatches /kept', 'set /kept 3', 'sync /kept'],
    /PersistentWatchRemoved path:\/kept|DataWatchRemoved path:\/kept/,
  ),
  step('delete', ['delete /shell/e', 'stat /shell/e'], /Node does not exist: \/shell\/e/),
  step('delete -v', ['create /v', 'delete -v 7 /v'], /version No is not valid/),
  step('delete of a parent', ['delete /shell'], /Node not empty: \/shell/),
  step('deleteall', ['deleteall /shell', 'stat /shell'], /Node does not exist: \/shell/),
  // A standalone server has an empty configuration; any text would be an error.
  step('config', ['config'], /^\s*$/),
]

/** Each command in a separate shell. */
export const batchScript: readonly Step[] = [
  step(
    'batch create, get',
    ['create /batch b', 'get /batch'],
    /Created \/batch/,
    /^b\n[^]*\(exit 0\)/m,
  ),
  step('batch refusal', ['get /nothing'], /Node does not exist: \/nothing/, /\(exit not 0\)/),
  step('batch deleteall', ['deleteall /batch', 'stat /batch'], /does not exist: \/batch/),
]

export const shellChecks: readonly Check[] = [...sessionScript, ...batchScript].map(
  ({ name, commands }) => ({ name, meaning: commands.join('; ') }),
)

function step(name: string, commands: readonly string[], ...wanted: readonly RegExp[]): Step {
  return { name, commands, wanted }
}
