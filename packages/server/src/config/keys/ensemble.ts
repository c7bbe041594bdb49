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
    departs: "zabra's own; ZooKeeper reads only the file.",
  }),
  initLimit: setting(ticks, undefined, 'How long a server may take to join its leader.', {
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
    'Role of this server; the role in its server line counts more.',
    { use, defaultText: 'participant' },
  ),
  electionAlg: setting(int, 3, 'Only 3 exists.', {
    use,
    range: { min: 3, max: 3, outside: 'error' },
  }),
  standaloneEnabled: setting(
    bool,
    true,
    'A single server line means a server on its own; if false, an ensemble of one that can grow.',
    { use },
  ),
  reconfigEnabled: setting(bool, false, 'Members can be changed while the ensemble runs.', { use }),
  dynamicConfigFile: setting(path, undefined, 'File that holds the server lines.', {
    use,
    defaultText: 'none',
  }),
  quorumListenOnAllIPs: setting(
    bool,
    false,
    'Ports for other servers are bound to every address.',
    {
      use,
    },
  ),
  observerMasterPort: setting(port, 0, 'Followers serve observers on this port; 0 for not.', {
    use,
    range: { min: 0, max: 65_535, outside: 'error' },
  }),
  syncEnabled: setting(bool, true, 'Observers keep logs and snapshots.', {
    use: 'unused',
    notice: 'observers always do',
  }),
  'observer.syncEnabled': property(bool, true, 'The same, as a system property.', {
    use: 'unused',
    notice: 'observers always do',
  }),
  oraclePath: setting(path, undefined, 'File that decides for one of two servers.', {
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
    'Part of the snapshot size up to which a learner is sent logs instead; negative for never, 0 for any size.',
    {
      use,
      range: { max: 1, outside: 'default' },
      departs: 'What counts is what the logs hold, in ZooKeeper the size of their files.',
    },
  ),
  forceSnapshotSync: property(bool, false, 'Learners are always sent a snapshot.', { use }),
  'sync.confirmLeader': property(
    bool,
    true,
    'Before a sync is answered, a quorum confirms that its leader still leads: a read behind it is linearizable. Otherwise a leader that was replaced unawares may answer.',
    { use, departs: "zabra's own; ZooKeeper answers at once." },
  ),
  'quorum.admitStrangers': property(
    bool,
    undefined,
    'Servers that are no members may follow, and are sent the whole database. Needed by those that are to join by reconfig.',
    {
      use,
      defaultText: 'reconfigEnabled',
      departs: "zabra's own; ZooKeeper always admits them.",
    },
  ),
  'recovery.resetAcceptedEpoch': property(
    bool,
    false,
    'Takes back all promises of epochs: acceptedEpoch becomes currentEpoch. For one start only, and of all servers after all were stopped.',
    {
      use,
      flag: '--reset-accepted-epoch',
      departs: "zabra's own; ZooKeeper takes no notice of it.",
    },
  ),
  cnxTimeout: property(ms, 5000, 'Timeout of connecting for elections.', { use }),
  quorumCnxnTimeoutMs: property(ms, -1, 'Timeout of reading from an election connection.', {
    use,
    defaultText: 'syncLimit',
  }),
  electionPortBindRetry: property(int, 3, 'Attempts to bind the election port; 0 for no end.', {
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
    'How long an elected leader waits for a quorum that has left it.',
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
  'observer.reconnectDelayMs': property(ms, 0, 'An observer waits up to this to reconnect.', {
    use,
  }),
  'observer.election.DelayMs': property(ms, 200, 'An observer waits this before an election.', {
    use: 'unused',
    notice: 'it does not wait',
  }),
  'observerMaster.sizeLimit': property(int, 33_554_432, 'Bytes that may wait for an observer.', {
    use,
  }),
  tcpKeepAlive: property(bool, false, 'TCP keep-alive between servers.', { use }),
  'multiAddress.enabled': setting(bool, false, 'A server line can have several addresses.', {
    use,
    departs: 'Only the first of them is used yet.',
    properties: ['zookeeper.multiAddress.enabled'],
  }),
  'multiAddress.reachabilityCheckTimeoutMs': setting(ms, 1000, 'Wait for an address to answer.', {
    use: 'planned',
    properties: ['zookeeper.multiAddress.reachabilityCheckTimeoutMs'],
  }),
  'multiAddress.reachabilityCheckEnabled': setting(bool, true, 'Addresses are tried first.', {
    use: 'planned',
    properties: ['zookeeper.multiAddress.reachabilityCheckEnabled'],
  }),
  'quorum.auth.enableSasl': setting(
    bool,
    false,
    'Servers authenticate to each other by SASL DIGEST-MD5.',
    { use },
  ),
  'quorum.auth.learnerRequireSasl': setting(
    bool,
    false,
    'This server authenticates wherever it connects to.',
    { use },
  ),
  'quorum.auth.serverRequireSasl': setting(
    bool,
    false,
    'This server takes no server that does not authenticate.',
    { use },
  ),
  'quorum.auth.usersFile': setting(
    path,
    undefined,
    'File with lines `name=password`: the first is who this server is, all of them are taken from others.',
    { use, defaultText: 'none: the JAAS file', departs: "zabra's own." },
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
    'Section of the JAAS file with the users that are taken.',
    { use },
  ),
  'quorum.auth.kerberos.servicePrincipal': setting(
    text,
    'zkquorum/localhost',
    'Kerberos name of a server.',
    { use: 'unused', notice: 'Kerberos is not offered' },
  ),
} as const

export const families: readonly Family[] = [
  {
    name: 'server.N',
    pattern: /^server\./,
    source: 'setting',
    use,
    docs: 'Member N: `host:quorumPort:electionPort[:participant|observer][;[address:]clientPort]`. IPv6 addresses stand in brackets; with multiAddress.enabled several addresses are joined by `|`.',
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
    docs: 'Weight of member N in a hierarchical quorum; 1 where not given.',
  },
  {
    name: 'authProvider.NAME',
    pattern: /^authProvider\./,
    source: 'property',
    use: 'used',
    docs: 'Java class of an authentication provider. Those of ZooKeeper itself are known by name (SASL, X509, Ensemble, Key); others cannot be loaded.',
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
    notice: 'it belongs to a metrics provider that is not here',
    docs: 'Options of other metrics providers.',
  },
]
