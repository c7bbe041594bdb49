import { property, setting } from '../key.ts'
import { bool, choice, days, hours, int, kib, long, ms, path, yesNo } from '../value-types.ts'

export const storage = {
  dataDir: setting(path, undefined, 'Directory of snapshots and of the file myid.', {
    withoutFile: './data',
    defaultText: 'must be set; ./data without a file',
    flag: '--data-dir',
  }),
  dataLogDir: setting(
    path,
    undefined,
    'Directory of the transaction logs. A separate disk is worth it.',
    { defaultText: 'dataDir', flag: '--data-log-dir' },
  ),
  'datadir.autocreate': property(bool, true, 'Create missing directories.'),
  'db.autocreate': property(
    bool,
    true,
    'Treat an empty data directory as a new database. If false, an empty file `initialize` in dataLogDir must say so, once. Without that file a member of an ensemble does not vote until it has received the data, and a standalone server does not start.',
  ),
  snapCount: property(
    int,
    100_000,
    'Transactions between snapshots; the actual number is random, between half of this and all of it.',
    { range: { min: 2, outside: 'nearest' } },
  ),
  snapSizeLimitInKb: property(
    kib,
    4_294_967_296,
    'Size of the log between snapshots, randomized likewise; 0 or less for no limit.',
  ),
  txnLogSizeLimitInKb: property(
    kib,
    -1024,
    'A log file that grows beyond this is closed, and a new one is started; 0 or less for no limit.',
  ),
  preAllocSize: property(
    kib,
    67_108_864,
    'Log files are preallocated in steps of this size; 0 to grow as needed.',
    {
      range: { min: 0, outside: 'default' },
    },
  ),
  forceSync: property(
    yesNo,
    true,
    'Sync writes to disk before acknowledging them. With no, a power cut can lose acknowledged writes.',
  ),
  'fsync.warningthresholdms': property(
    ms,
    1000,
    'Log a warning about a log sync that took longer.',
    {
      properties: ['zookeeper.fsync.warningthresholdms', 'fsync.warningthresholdms'],
    },
  ),
  flushDelay: property(ms, 0, 'How long a write may wait for others to share its sync.', {
    use: 'unused',
    notice: 'writes that arrive during a sync share the next one, without waiting',
    range: { min: 0, outside: 'default' },
  }),
  maxWriteQueuePollTime: property(
    ms,
    undefined,
    'How long the log waits for the next write if flushDelay is set.',
    {
      use: 'unused',
      notice: 'writes that arrive during a sync share the next one, without waiting',
      defaultText: 'flushDelay / 3',
    },
  ),
  maxBatchSize: property(int, 1000, 'How many writes can share a sync if flushDelay is set.', {
    use: 'unused',
    notice: 'writes that arrive during a sync share the next one, without waiting',
    range: { min: 1, outside: 'default' },
  }),
  'snapshot.compression.method': property(
    choice(['', 'gz', 'snappy']),
    '',
    'Compression of new snapshots. Existing ones are read in any format.',
    { defaultText: 'not at all' },
  ),
  'snapshot.trust.empty': property(
    bool,
    false,
    'Accept logs without any snapshot, as after an upgrade from 3.4. Turn it off afterwards.',
  ),
  'serializeLastProcessedZxid.enabled': property(
    bool,
    true,
    'Write the zxid of the last contained transaction to the end of snapshots. Versions before 3.9 ignore it. The commands snapshot and restore need it.',
  ),
  'digest.enabled': property(
    bool,
    true,
    'Write digests of the tree to logs and snapshots, and compare them.',
  ),
  'closeSessionTxn.enabled': property(
    bool,
    true,
    'The transaction that ends a session lists the nodes it deletes.',
  ),
} as const

export const retention = {
  'autopurge.purgeInterval': setting(
    hours,
    3_600_000,
    'How often snapshots and logs that are no longer needed are deleted; 0 for never.',
    {
      range: { min: 0, outside: 'nearest' },
      departs: 'Off (0) by default in ZooKeeper.',
    },
  ),
  'autopurge.snapRetainCount': setting(
    int,
    3,
    'Number of snapshots to keep, with the logs that follow them.',
    {
      range: { min: 3, outside: 'nearest' },
    },
  ),
  'recovery.acceptDamage': property(
    bool,
    false,
    'Start even if acknowledged writes may be lost: keep everything valid up to the damage and set the rest aside as damaged.*. For one start only.',
    { flag: '--accept-damage', departs: 'Only in zabra; ZooKeeper ignores it.' },
  ),
  'autopurge.retainBytes': setting(
    long,
    8 * 1024 ** 3,
    'Limit for snapshots and logs together. Beyond it fewer snapshots are kept, but always the newest valid one and its logs; 0 for no limit.',
    {
      range: { min: 0, outside: 'error' },
      departs: 'Only in zabra; ZooKeeper ignores it.',
    },
  ),
} as const

const ours = 'Only in zabra; ZooKeeper ignores it.'

export const history = {
  'history.enabled': setting(
    bool,
    true,
    'Keep logs and snapshots that recovery no longer needs in folders named `history`, so that the past can be read ([history](history.md)). If false, they are deleted, as in ZooKeeper, and only files that recovery needs show the past.',
    { departs: ours },
  ),
  'history.retainBytes': setting(
    long,
    2 * 1024 ** 3,
    'Maximum bytes in the folders `history`, in addition to `autopurge.retainBytes`. The oldest files are deleted first. 0 for no limit.',
    { range: { min: 0, outside: 'error' }, departs: ours },
  ),
  'history.retainDays': setting(
    days,
    30 * 86_400_000,
    'Maximum age of changes in the folders `history`; older files are deleted. 0 for no limit.',
    { departs: ours },
  ),
} as const
