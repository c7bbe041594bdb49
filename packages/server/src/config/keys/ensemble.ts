import { property, setting } from '../key.ts'
import type { Family } from '../key.ts'
import {
  bool,
  caseless,
  choice,
  int,
  ms,
  path,
  port,
  ratio,
  text,
  ticks,
  yesNo,
} from '../value-types.ts'

const use = 'ensemble'

export const ensemble = {
  myid: setting(int, undefined, 'Number of this server, instead of the file myid in dataDir.', {
    use,
    defaultText: 'the file myid',
    range: { min: 0, max: 255, outside: 'error' },
    flag: '--myid',
    departs: 'Only in zabra; ZooKeeper reads only the file.',
  }),
  initLimit: setting(ticks, undefined, 'Time that a server may take to join its leader.', {
    use,
    withoutFile: 10,
    defaultText: 'must be set in an ensemble',
  }),
  syncLimit: setting(ticks, undefined, 'How far a server may fall behind its leader.', {
    use,
    withoutFile: 5,
    defaultText: 'must be set in an ensemble',
  }),
  connectToLearnerMasterLimit: setting(ticks, 0, 'How long connecting to the leader may take.', {
    use,
    defaultText: 'initLimit',
  }),
  peerType: setting(
    caseless(choice(['participant', 'observer'])),
    undefined,
    'Role of this server; the role in its server line takes precedence.',
    { use, defaultText: 'participant' },
  ),
  electionAlg: setting(int, 3, 'Only 3 exists.', {
    use,
    range: { min: 3, max: 3, outside: 'error' },
  }),
  standaloneEnabled: setting(
    bool,
    true,
    'Treat a single server line as a standalone server. If false, it is an ensemble of one that can grow.',
    { use },
  ),
  reconfigEnabled: setting(bool, false, 'Allow changes of members while the ensemble runs.', {
    use,
  }),
  dynamicConfigFile: setting(path, undefined, 'File that holds the server lines.', {
    use,
    defaultText: 'none',
  }),
  quorumListenOnAllIPs: setting(bool, false, 'Bind the ports for other servers to every address.', {
    use,
  }),
  observerMasterPort: setting(
    port,
    0,
    'Followers serve observers on this port; 0 turns this off.',
    {
      use,
      range: { min: 0, max: 65_535, outside: 'error' },
    },
  ),
  syncEnabled: setting(bool, true, 'Observers keep logs and snapshots.', {
    use: 'unused',
    notice: 'observers always do',
  }),
  'observer.syncEnabled': property(bool, true, 'The same, as a system property.', {
    use: 'unused',
    notice: 'observers always do',
  }),
  oraclePath: setting(path, undefined, 'File that breaks the tie between two servers.', {
    use: 'planned',
    defaultText: 'none',
  }),
  leaderServes: property(yesNo, true, 'The leader accepts clients.', { use }),
  commitLogCount: property(int, 500, 'Committed transactions kept in memory for learners.', {
    use,
    range: { min: 500, outside: 'default' },
  }),
  snapshotSizeFactor: property(
    ratio,
    0.33,
    'A learner gets logs instead of a snapshot if they are smaller than this fraction of the snapshot; negative for never, 0 for any size.',
    {
      use,
      range: { max: 1, outside: 'default' },
      departs: 'The content of the logs counts; in ZooKeeper, the size of their files.',
    },
  ),
  forceSnapshotSync: property(bool, false, 'Always send learners a snapshot.', { use }),
  'sync.confirmLeader': property(
    bool,
    true,
    'Before a sync is answered, a quorum confirms that the leader still leads, so a read after it is linearizable. If false, a leader that was replaced without knowing it may answer.',
    { use, departs: 'Only in zabra; ZooKeeper answers at once.' },
  ),
  'quorum.admitStrangers': property(
    bool,
    undefined,
    'Servers that are not members may follow, and receive the whole database. Servers that will join by reconfig need this.',
    {
      use,
      defaultText: 'reconfigEnabled',
      departs: 'Only in zabra; ZooKeeper always admits them.',
    },
  ),
  'recovery.resetAcceptedEpoch': property(
    bool,
    false,
    'Take back all promises of epochs: acceptedEpoch becomes currentEpoch. For one start only, of all servers, after all of them were stopped.',
    {
      use,
      flag: '--reset-accepted-epoch',
      departs: 'Only in zabra; ZooKeeper ignores it.',
    },
  ),
  cnxTimeout: property(ms, 5000, 'Timeout for connecting to another server for elections.', {
    use,
  }),
  quorumCnxnTimeoutMs: property(ms, -1, 'Timeout for reading from an election connection.', {
    use,
    defaultText: 'syncLimit',
  }),
  electionPortBindRetry: property(int, 3, 'Attempts to bind the election port; 0 for no limit.', {
    use,
  }),
  'fastleader.minNotificationInterval': property(ms, 200, 'First wait for votes.', { use }),
  'fastleader.maxNotificationInterval': property(ms, 60_000, 'Longest wait for votes.', { use }),
  leaderConnectDelayDuringRetryMs: property(
    ms,
    100,
    'Pause between attempts to reach a leader, after a few shorter ones.',
    { use, range: { min: 1, outside: 'default' } },
  ),
  'leader.maxTimeToWaitForEpoch': property(
    ms,
    -1,
    'How long an elected leader waits for a quorum that left it.',
    {
      use: 'unused',
      notice: 'it gives up at once',
      defaultText: 'initLimit',
    },
  ),
  'leader.maxConcurrentSnapSyncs': property(int, 10, 'Snapshots sent to learners at once.', {
    use,
    range: { min: 1, outside: 'default' },
  }),
  'leader.maxConcurrentDiffSyncs': property(int, 100, 'Logs sent to learners at once.', {
    use,
    range: { min: 1, outside: 'default' },
  }),
  'observer.reconnectDelayMs': property(ms, 0, 'Longest delay before an observer reconnects.', {
    use,
  }),
  'observer.election.DelayMs': property(ms, 200, 'How long an observer waits before an election.', {
    use: 'unused',
    notice: 'it does not wait',
  }),
  'observerMaster.sizeLimit': property(
    int,
    33_554_432,
    'Bytes that may be queued for one observer.',
    {
      use,
    },
  ),
  tcpKeepAlive: property(bool, false, 'TCP keep-alive between servers.', { use }),
  'multiAddress.enabled': setting(bool, false, 'A server line can have several addresses.', {
    use,
    departs: 'Only the first of them is used yet.',
    properties: ['zookeeper.multiAddress.enabled'],
  }),
  'multiAddress.reachabilityCheckTimeoutMs': setting(
    ms,
    1000,
    'How long to wait for an address to answer.',
    {
      use: 'planned',
      properties: ['zookeeper.multiAddress.reachabilityCheckTimeoutMs'],
    },
  ),
  'multiAddress.reachabilityCheckEnabled': setting(
    bool,
    true,
    'Probe addresses before using them.',
    {
      use: 'planned',
      properties: ['zookeeper.multiAddress.reachabilityCheckEnabled'],
    },
  ),
  'quorum.auth.enableSasl': setting(
    bool,
    false,
    'Servers authenticate to each other by SASL DIGEST-MD5.',
    { use },
  ),
  'quorum.auth.learnerRequireSasl': setting(
    bool,
    false,
    'This server authenticates to every server it connects to.',
    { use },
  ),
  'quorum.auth.serverRequireSasl': setting(
    bool,
    false,
    'This server accepts only servers that authenticate.',
    { use },
  ),
  'quorum.auth.usersFile': setting(
    path,
    undefined,
    'File with lines `name=password`. This server authenticates with the first, and accepts all of them from others.',
    { use, defaultText: 'none: the JAAS file', departs: 'Only in zabra.' },
  ),
  'quorum.auth.learner.saslLoginContext': setting(
    text,
    'QuorumLearner',
    'Section of the JAAS file with the `username` and `password` of this server.',
    { use },
  ),
  'quorum.auth.server.saslLoginContext': setting(
    text,
    'QuorumServer',
    'Section of the JAAS file with the accepted users.',
    { use },
  ),
  'quorum.auth.kerberos.servicePrincipal': setting(
    text,
    'zkquorum/localhost',
    'Kerberos name of a server.',
    { use: 'unused', notice: 'Kerberos is not supported' },
  ),
} as const

export const families: readonly Family[] = [
  {
    name: 'server.N',
    pattern: /^server\./,
    source: 'setting',
    use,
    docs: 'Member N: `host:quorumPort:electionPort[:participant|observer][;[address:]clientPort]`. IPv6 addresses need brackets; with multiAddress.enabled, several addresses are joined by `|`.',
  },
  {
    name: 'group.N',
    pattern: /^group\./,
    source: 'setting',
    use,
    docs: 'Members of group N of a hierarchical quorum: `1:2:3`.',
  },
  {
    name: 'weight.N',
    pattern: /^weight\./,
    source: 'setting',
    use,
    docs: 'Weight of member N in a hierarchical quorum; 1 by default.',
  },
  {
    name: 'authProvider.NAME',
    pattern: /^authProvider\./,
    source: 'property',
    use: 'used',
    docs: "Java class of an authentication provider. ZooKeeper's own classes are known by name (SASL, X509, Ensemble, Key); others cannot be loaded.",
  },
  {
    name: 'superUser.NAME',
    pattern: /^superUser\./,
    source: 'property',
    use: 'used',
    docs: 'More SASL users with the rights of the super user.',
  },
  {
    name: 'metricsProvider.NAME',
    pattern: /^metricsProvider\./,
    source: 'setting',
    use: 'unused',
    notice: 'it belongs to a metrics provider that zabra does not have',
    docs: 'Options of other metrics providers.',
  },
]
