import { property, setting } from '../key.ts'
import { bool, choice, days, hours, int, kib, long, ms, path, yesNo } from '../value-types.ts'

export const storage = {
  dataDir: setting(path, undefined, 'Directory of the snapshots and of the file myid.', {
    withoutFile: './data',
    defaultText: 'must be set; ./data without a file',
    flag: '--data-dir',
  }),
  dataLogDir: setting(
    path,
    undefined,
    'Directory of the transaction logs; a disk of its own is worth it.',
    { defaultText: 'dataDir', flag: '--data-log-dir' },
  ),
  'datadir.autocreate': property(bool, true, 'Missing directories are created.'),
  'db.autocreate': property(
    bool,
    true,
    'An empty data directory is taken for a new database. If not, an empty file `initialize` in dataLogDir must say so, once; without it a server of an ensemble does not vote before it has been sent the data, and one on its own does not start.',
  ),
  snapCount: property(
    int,
    100_000,
    'Transactions between snapshots; taken at random between half of it and all of it.',
    { range: { min: 2, outside: 'nearest' } },
  ),
  snapSizeLimitInKb: property(
    kib,
    4_294_967_296,
    'Log written between snapshots, likewise; 0 or less for no limit.',
  ),
  txnLogSizeLimitInKb: property(
    kib,
    -1024,
    'A log file that has grown beyond this is closed and a new one begun; 0 or less for no limit.',
  ),
  preAllocSize: property(kib, 67_108_864, 'Log files grow in steps of this; 0 for as needed.', {
    range: { min: 0, outside: 'default' },
  }),
  forceSync: property(
    yesNo,
    true,
    'Writes are on disk before they are acknowledged. With no, a power cut loses acknowledged writes.',
  ),
  'fsync.warningthresholdms': property(ms, 1000, 'A sync of the log that took longer is logged.', {
    properties: ['zookeeper.fsync.warningthresholdms', 'fsync.warningthresholdms'],
  }),
  flushDelay: property(
    ms,
    0,
    'How long a write may wait for others to share its sync. zabra shares syncs without waiting.',
    {
      use: 'unused',
      notice: 'writes that arrive during a sync share the next one, without waiting',
      range: { min: 0, outside: 'default' },
    },
  ),
  maxWriteQueuePollTime: property(
    ms,
    undefined,
    'How long the log waits for a next write when flushDelay is set.',
    {
      use: 'unused',
      notice: 'writes that arrive during a sync share the next one, without waiting',
      defaultText: 'flushDelay / 3',
    },
  ),
  maxBatchSize: property(int, 1000, 'Writes that share a sync at most when flushDelay is set.', {
    use: 'unused',
    notice: 'writes that arrive during a sync share the next one, without waiting',
    range: { min: 1, outside: 'default' },
  }),
  'snapshot.compression.method': property(
    choice(['', 'gz', 'snappy']),
    '',
    'How new snapshots are compressed; existing ones are read whatever they are.',
    { defaultText: 'not at all' },
  ),
  'snapshot.trust.empty': property(
    bool,
    false,
    'Logs without any snapshot are accepted, as after an upgrade from 3.4. Switch off afterwards.',
  ),
  'serializeLastProcessedZxid.enabled': property(
    bool,
    true,
    'Snapshots end with the last transaction they contain. Versions before 3.9 ignore it. Without it the commands snapshot and restore are refused.',
  ),
  'digest.enabled': property(
    bool,
    true,
    'Digests of the tree are kept in logs and snapshots, and compared.',
  ),
  'closeSessionTxn.enabled': property(
    bool,
    true,
    'The end of a session lists in the log the nodes that end with it.',
  ),
} as const

export const retention = {
  'autopurge.purgeInterval': setting(
    hours,
    3_600_000,
    'How often snapshots and logs no longer needed are deleted; 0 for never.',
    {
      range: { min: 0, outside: 'nearest' },
      departs: 'Off (0) by default in ZooKeeper, until the disk is full.',
    },
  ),
  'autopurge.snapRetainCount': setting(int, 3, 'Snapshots kept, with the logs that follow them.', {
    range: { min: 3, outside: 'nearest' },
  }),
  'recovery.acceptDamage': property(
    bool,
    false,
    'Starts even where acknowledged writes may be lost: keeps what is sound up to the damage and sets the rest aside as damaged.*. For one start only.',
    { flag: '--accept-damage', departs: "zabra's own; ZooKeeper takes no notice of it." },
  ),
  'autopurge.retainBytes': setting(
    long,
    8 * 1024 ** 3,
    'Bound for snapshots and logs together: beyond it fewer snapshots are kept, but always the newest valid one and its logs; 0 for no bound.',
    {
      range: { min: 0, outside: 'error' },
      departs: "zabra's own; ZooKeeper takes no notice of it.",
    },
  ),
} as const

const ours = "zabra's own; ZooKeeper takes no notice of it."

export const history = {
  'history.enabled': setting(
    bool,
    true,
    'Logs and snapshots that recovery needs no more are kept in folders named `history`, and the past can be asked for ([history](history.md)). Without it they are deleted, as ZooKeeper does, and what recovery needs is all that the past can be read from.',
    { departs: ours },
  ),
  'history.retainBytes': setting(
    long,
    2 * 1024 ** 3,
    'Bound for the folders `history`, besides `autopurge.retainBytes`; the oldest goes first. 0 for no bound.',
    { range: { min: 0, outside: 'error' }, departs: ours },
  ),
  'history.retainDays': setting(
    days,
    30 * 86_400_000,
    'What is older goes from the folders `history`; 0 for no bound.',
    { departs: ours },
  ),
} as const
