import { bare, property, setting } from '../key.ts'
import {
  address,
  bool,
  choice,
  int,
  list,
  ms,
  path,
  port,
  ratio,
  text,
  yesNo,
} from '../value-types.ts'

const validPort = { min: 0, max: 65_535, outside: 'error' } as const
const notNegative = { min: 0, outside: 'default' } as const

export const listening = {
  clientPort: setting(port, undefined, 'Port for clients. 0 in a file means none.', {
    withoutFile: 2181,
    defaultText: 'none; 2181 without a file',
    range: validPort,
    flag: '--port',
    departs: 'Given by option or environment, 0 takes any free port.',
  }),
  clientPortAddress: setting(address, undefined, 'Address the client port is bound to.', {
    defaultText: 'every address',
    flag: '--address',
  }),
  clientPortListenBacklog: setting(
    int,
    -1,
    'Connections the operating system may hold until they are accepted; -1 leaves it to the system.',
  ),
  maxClientCnxns: setting(
    int,
    60,
    'Connections allowed from one client address; 0 for any number. A surplus one is closed at once.',
    { range: { min: 0, outside: 'nearest' } },
  ),
  maxCnxns: property(int, 0, 'Connections allowed altogether; 0 for any number.', {
    range: notNegative,
  }),
  idlePollMicros: setting(
    int,
    100,
    'Microseconds the server looks for the next request before it sleeps, where reads follow one another closely; 0 for never.',
    {
      range: { min: 0, max: 10_000, outside: 'error' },
      departs: "zabra's own; ZooKeeper takes no notice of it.",
    },
  ),
  'nio.sessionlessCnxnTimeout': property(
    ms,
    10_000,
    'A connection that has not opened a session after this time is closed.',
    { range: { min: 1, outside: 'default' } },
  ),
  clientTcpKeepAlive: property(bool, false, 'TCP keep-alive on client connections.'),
} as const

export const sessions = {
  tickTime: setting(
    ms,
    3000,
    'Length of a tick, the unit of session expiry and of the limits of an ensemble.',
    {
      withoutFile: 2000,
      defaultText: '3000; 2000 without a file',
      range: { min: 1, outside: 'error' },
      flag: '--tick-time',
    },
  ),
  minSessionTimeout: setting(ms, -1, 'Shortest session timeout a client can have.', {
    defaultText: '2 ticks',
  }),
  maxSessionTimeout: setting(ms, -1, 'Longest session timeout a client can have.', {
    defaultText: '20 ticks',
  }),
  localSessionsEnabled: setting(
    bool,
    false,
    'Sessions are known only to the server they were opened on, and cost no transaction. They end with its role, and another server does not know them.',
    { use: 'ensemble' },
  ),
  localSessionsUpgradingEnabled: setting(
    bool,
    false,
    'A local session becomes global when it creates an ephemeral node; otherwise it is refused one.',
    { use: 'ensemble' },
  ),
  'readonlymode.enabled': bare(
    bool,
    false,
    'A server that has looked for a leader for 2 seconds, or a tick if that is longer, serves reads to clients that can do with them. Also turns the word isro on.',
    {
      use: 'ensemble',
      departs: 'clients are served without localSessionsEnabled too; Apache gives them no session.',
    },
  ),
} as const

export const limits = {
  'jute.maxbuffer': bare(
    int,
    0xfffff,
    'Longest request in bytes; a longer one closes its connection. Use the same value everywhere.',
    {
      properties: ['jute.maxbuffer', 'zookeeper.jute.maxbuffer'],
      range: { min: 1, outside: 'default' },
    },
  ),
  'jute.maxbuffer.extrasize': property(
    int,
    undefined,
    'Allowance above jute.maxbuffer for what the server itself adds to a stored record.',
    { defaultText: 'jute.maxbuffer', range: { min: 0, outside: 'default' } },
  ),
  globalOutstandingLimit: property(
    int,
    1000,
    'Requests in flight above which the server stops reading from connections that have one.',
    { range: { min: 1, outside: 'default' } },
  ),
  largeRequestThreshold: property(
    int,
    -1,
    'Requests longer than this share the budget of largeRequestMaxBytes; -1 for none.',
  ),
  largeRequestMaxBytes: property(
    int,
    104_857_600,
    'Bytes of large requests in flight; beyond it their connections are closed.',
    { range: { min: 1, outside: 'default' } },
  ),
  request_throttle_max_requests: property(
    int,
    0,
    'Requests in flight above which new ones wait in the throttler; 0 for no throttling.',
    { range: notNegative },
  ),
  request_throttle_stall_time: property(
    ms,
    100,
    'How long a throttled request waits at most before it is looked at again.',
    {
      use: 'unused',
      notice: 'a request goes on as soon as there is room',
      range: notNegative,
    },
  ),
  request_throttle_drop_stale: property(
    bool,
    true,
    'Stale requests are dropped, and their connection closed; otherwise they are only counted.',
  ),
  request_stale_connection_check: property(
    bool,
    true,
    'A request is stale when its connection has closed.',
    {
      use: 'unused',
      notice: 'what waits is never executed once its connection has closed',
    },
  ),
  request_stale_latency_check: property(
    bool,
    false,
    'A request that waits because of request_throttle_max_requests is stale after the timeout of its session.',
  ),
  throttled_op_wait_time: property(
    ms,
    0,
    'A request that waited longer than this because of request_throttle_max_requests is refused with ThrottledOp; 0 for never.',
    { range: notNegative },
  ),
  connection_throttle_tokens: property(
    int,
    20_000,
    'Bucket of the connection throttle: sessions that may be opened or resumed at once; 0 for no throttle.',
    { range: notNegative, departs: 'Off (0) by default in ZooKeeper.' },
  ),
  connection_throttle_fill_time: property(ms, 1, 'The bucket is refilled at this interval.', {
    range: { min: 1, outside: 'default' },
  }),
  connection_throttle_fill_count: property(int, 5, 'Tokens added at each refill.', {
    range: notNegative,
    departs: '1 in ZooKeeper, which would be a thousand sessions a second here.',
  }),
  connection_throttle_freeze_time: property(
    ms,
    -1,
    'How often the probability of a drop is adjusted; -1 to switch random drops off.',
  ),
  connection_throttle_drop_increase: property(
    ratio,
    0.02,
    'Added to the probability of a drop when the bucket was empty.',
    { range: { min: 0, max: 1, outside: 'default' } },
  ),
  connection_throttle_drop_decrease: property(
    ratio,
    0.002,
    'Taken from the probability of a drop when the bucket is above its threshold.',
    { range: { min: 0, max: 1, outside: 'default' } },
  ),
  connection_throttle_decrease_ratio: property(
    ratio,
    0,
    'Threshold, as a part of the bucket, above which the probability falls.',
    { range: { min: 0, max: 1, outside: 'default' } },
  ),
  connection_throttle_weight_enabled: property(
    bool,
    false,
    'Kinds of sessions cost different numbers of tokens.',
  ),
  connection_throttle_global_session_weight: property(int, 3, 'Tokens for a new global session.', {
    range: { min: 1, outside: 'default' },
  }),
  connection_throttle_renew_session_weight: property(int, 2, 'Tokens for a renewed session.', {
    range: { min: 1, outside: 'default' },
  }),
  connection_throttle_local_session_weight: property(int, 1, 'Tokens for a new local session.', {
    range: { min: 1, outside: 'default' },
  }),
} as const

export const nodes = {
  extendedTypesEnabled: property(bool, true, 'Nodes can have a time to live.', {
    departs: 'Off by default in ZooKeeper, where createTTL is then refused as unimplemented.',
  }),
  emulate353TTLNodes: property(
    bool,
    false,
    'Reads the TTL nodes that version 3.5.3 wrote in a format of its own.',
    { use: 'planned' },
  ),
  'znode.container.checkIntervalMs': bare(
    ms,
    60_000,
    'How often empty containers and outlived TTL nodes are looked for.',
    { range: { min: 1, outside: 'default' } },
  ),
  'znode.container.maxPerMinute': bare(
    int,
    10_000,
    'How many of them are deleted in a minute at most.',
    { range: { min: 1, outside: 'default' } },
  ),
  'znode.container.maxNeverUsedIntervalMs': bare(
    ms,
    300_000,
    'A container that never had a child is deleted after this time; 0 for never.',
    { range: notNegative },
  ),
  enforceQuota: property(bool, false, 'Hard quotas are enforced, not only logged.'),
} as const

export const access = {
  skipACL: property(yesNo, false, 'yes: no permission is ever checked. Not for production.'),
  enableEagerACLCheck: property(
    bool,
    false,
    'Permissions of a write are checked by the server that received it, before it is forwarded.',
    { use: 'unused', notice: 'the leader checks them, and the client gets the same answer' },
  ),
  'DigestAuthenticationProvider.superDigest': property(
    text,
    undefined,
    'user:digest of the super user, who may do anything.',
    { defaultText: 'none' },
  ),
  'DigestAuthenticationProvider.enabled': property(
    bool,
    true,
    'Clients can use the scheme digest.',
  ),
  'DigestAuthenticationProvider.digestAlg': property(
    choice(['SHA1', 'SHA-256', 'SHA3-256'], { 'SHA-1': 'SHA1' }),
    'SHA1',
    'Hash of the scheme digest. All servers and stored permissions must agree on it.',
    { strict: true },
  ),
  'enforce.auth.enabled': property(
    bool,
    false,
    'Requests are refused until their connection is authenticated by one of enforce.auth.schemes.',
  ),
  'enforce.auth.schemes': property(list, [], 'Schemes of which one is needed.', {
    defaultText: 'none',
  }),
  sessionRequireClientSASLAuth: property(
    bool,
    false,
    'Short for enforce.auth.enabled with the scheme sasl.',
  ),
  requireClientAuthScheme: property(text, undefined, 'Often seen in how-tos.', {
    use: 'unused',
    notice: 'no release of ZooKeeper reads it; enforce.auth.enabled does what is meant',
  }),
  ensembleAuthName: property(
    list,
    [],
    'Names that the scheme ensemble accepts, so that a client which means another ensemble is refused.',
    { defaultText: 'any' },
  ),
} as const

export const sasl = {
  'sasl.usersFile': property(
    path,
    undefined,
    'File with the users of SASL, a line `name=password` each. It also turns the scheme sasl on.',
    { defaultText: 'none', departs: "zabra's own." },
  ),
  'java.security.auth.login.config': bare(
    path,
    undefined,
    'JAAS file with the users of SASL, in the section named by sasl.serverconfig: `user_NAME="password"` of a DigestLoginModule.',
    {
      defaultText: 'none',
      departs: 'Kerberos is not offered; a section that asks for it is an error.',
    },
  ),
  'sasl.serverconfig': property(text, 'Server', 'Section of the JAAS file.'),
  allowSaslFailedClients: property(
    bool,
    false,
    'A client whose SASL exchange failed may stay, without an identity.',
  ),
  'SASLAuthenticationProvider.superPassword': property(
    text,
    undefined,
    'Password of the SASL user super, instead of the one in the file.',
    { defaultText: 'none' },
  ),
  superUser: property(text, undefined, 'SASL user with the rights of the super user.', {
    defaultText: 'none',
  }),
} as const
