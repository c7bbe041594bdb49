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
  clientPort: setting(port, undefined, 'Port for clients. 0 in a file means no port.', {
    withoutFile: 2181,
    defaultText: 'none; 2181 without a file',
    range: validPort,
    flag: '--port',
    departs: 'As an option or environment variable, 0 takes any free port.',
  }),
  clientPortAddress: setting(address, undefined, 'Address the client port is bound to.', {
    defaultText: 'every address',
    flag: '--address',
  }),
  clientPortListenBacklog: setting(
    int,
    -1,
    'Connections that the operating system may queue before they are accepted; -1 for the system default.',
  ),
  maxClientCnxns: setting(
    int,
    60,
    'Connections allowed from one client address; 0 for no limit. Further connections are closed at once.',
    { range: { min: 0, outside: 'nearest' } },
  ),
  maxCnxns: property(int, 0, 'Connections allowed in total; 0 for no limit.', {
    range: notNegative,
  }),
  idlePollMicros: setting(
    int,
    100,
    'Microseconds for which the server polls for the next request before it sleeps, when reads follow each other closely; 0 turns this off.',
    {
      range: { min: 0, max: 10_000, outside: 'error' },
      departs: 'Only in zabra; ZooKeeper ignores it.',
    },
  ),
  'nio.sessionlessCnxnTimeout': property(
    ms,
    10_000,
    'A connection without a session is closed after this time.',
    { range: { min: 1, outside: 'default' } },
  ),
  clientTcpKeepAlive: property(bool, false, 'TCP keep-alive on client connections.'),
} as const

export const sessions = {
  tickTime: setting(
    ms,
    3000,
    'Length of a tick, the unit of session expiry and of the time limits of an ensemble.',
    {
      withoutFile: 2000,
      defaultText: '3000; 2000 without a file',
      range: { min: 1, outside: 'error' },
      flag: '--tick-time',
    },
  ),
  minSessionTimeout: setting(ms, -1, 'Shortest session timeout that a client can get.', {
    defaultText: '2 ticks',
  }),
  maxSessionTimeout: setting(ms, -1, 'Longest session timeout that a client can get.', {
    defaultText: '20 ticks',
  }),
  localSessionsEnabled: setting(
    bool,
    false,
    'Sessions exist only on the server that opened them, and cost no transaction. They end when that server changes its role; other servers do not know them.',
    { use: 'ensemble' },
  ),
  localSessionsUpgradingEnabled: setting(
    bool,
    false,
    'A local session becomes global when it creates an ephemeral node. If false, the create is refused.',
    { use: 'ensemble' },
  ),
  'readonlymode.enabled': bare(
    bool,
    false,
    'A server that has looked for a leader for 2 seconds, or a tick if that is longer, serves read-only clients. Also enables the word isro.',
    {
      use: 'ensemble',
      departs: 'Works without localSessionsEnabled too; Apache then gives clients no session.',
    },
  ),
} as const

export const limits = {
  'jute.maxbuffer': bare(
    int,
    0xfffff,
    'Longest request in bytes, 256 MiB at most. A longer one closes its connection. Use the same value on all servers and clients.',
    {
      properties: ['jute.maxbuffer', 'zookeeper.jute.maxbuffer'],
      range: { min: 1, outside: 'default' },
    },
  ),
  'jute.maxbuffer.extrasize': property(
    int,
    undefined,
    'Allowance above jute.maxbuffer for what the server adds to a stored record.',
    { defaultText: 'jute.maxbuffer', range: { min: 0, outside: 'default' } },
  ),
  globalOutstandingLimit: property(
    int,
    1000,
    'Requests in flight. Above it, the server stops reading from connections that have one.',
    { range: { min: 1, outside: 'default' } },
  ),
  largeRequestThreshold: property(
    int,
    -1,
    'Requests longer than this share the budget of largeRequestMaxBytes; -1 for no budget.',
  ),
  largeRequestMaxBytes: property(
    int,
    104_857_600,
    'Bytes of large requests in flight. Beyond it, their connections are closed.',
    { range: { min: 1, outside: 'default' } },
  ),
  request_throttle_max_requests: property(
    int,
    0,
    'Requests in flight. Above it, new ones wait in the throttler; 0 for no throttling.',
    { range: notNegative },
  ),
  request_throttle_stall_time: property(
    ms,
    100,
    'Longest wait of a throttled request before it is checked again.',
    {
      use: 'unused',
      notice: 'a request continues as soon as there is room',
      range: notNegative,
    },
  ),
  request_throttle_drop_stale: property(
    bool,
    true,
    'Drop stale requests and close their connection. If false, they are only counted.',
  ),
  request_stale_connection_check: property(
    bool,
    true,
    'Treat a request as stale when its connection has closed.',
    {
      use: 'unused',
      notice: 'a waiting request is never executed once its connection has closed',
    },
  ),
  request_stale_latency_check: property(
    bool,
    false,
    'Treat a request that waits because of request_throttle_max_requests as stale after its session timeout.',
  ),
  throttled_op_wait_time: property(
    ms,
    0,
    'Refuse a request with ThrottledOp if it waited longer than this because of request_throttle_max_requests; 0 for never.',
    { range: notNegative },
  ),
  connection_throttle_tokens: property(
    int,
    20_000,
    'Size of the token bucket: sessions that may be opened or resumed at once; 0 for no throttle.',
    { range: notNegative, departs: 'Off (0) by default in ZooKeeper.' },
  ),
  connection_throttle_fill_time: property(ms, 1, 'Interval at which the bucket is refilled.', {
    range: { min: 1, outside: 'default' },
  }),
  connection_throttle_fill_count: property(int, 5, 'Tokens added at each refill.', {
    range: notNegative,
    departs: '1 in ZooKeeper, which would be 1,000 sessions per second here.',
  }),
  connection_throttle_freeze_time: property(
    ms,
    -1,
    'How often the drop probability is adjusted; -1 turns random drops off.',
  ),
  connection_throttle_drop_increase: property(
    ratio,
    0.02,
    'Added to the drop probability when the bucket was empty.',
    { range: { min: 0, max: 1, outside: 'default' } },
  ),
  connection_throttle_drop_decrease: property(
    ratio,
    0.002,
    'Subtracted from the drop probability when the bucket is above its threshold.',
    { range: { min: 0, max: 1, outside: 'default' } },
  ),
  connection_throttle_decrease_ratio: property(
    ratio,
    0,
    'Threshold above which the drop probability falls, as a fraction of the bucket.',
    { range: { min: 0, max: 1, outside: 'default' } },
  ),
  connection_throttle_weight_enabled: property(
    bool,
    false,
    'Different kinds of sessions cost different numbers of tokens.',
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
  extendedTypesEnabled: property(bool, true, 'Allow nodes with a time to live.', {
    departs: 'Off by default in ZooKeeper, which then refuses createTTL as unimplemented.',
  }),
  emulate353TTLNodes: property(
    bool,
    false,
    'Read the TTL nodes of version 3.5.3, which had their own format.',
    { use: 'planned' },
  ),
  'znode.container.checkIntervalMs': bare(
    ms,
    60_000,
    'How often to look for empty containers and expired TTL nodes.',
    { range: { min: 1, outside: 'default' } },
  ),
  'znode.container.maxPerMinute': bare(int, 10_000, 'How many of them may be deleted per minute.', {
    range: { min: 1, outside: 'default' },
  }),
  'znode.container.maxNeverUsedIntervalMs': bare(
    ms,
    300_000,
    'Delete a container that never had a child after this time; 0 for never.',
    { range: notNegative },
  ),
  enforceQuota: property(bool, false, 'Enforce hard quotas instead of only logging them.'),
} as const

export const access = {
  skipACL: property(yesNo, false, 'With yes, no permission is ever checked. Not for production.'),
  enableEagerACLCheck: property(
    bool,
    false,
    'The server that receives a write checks its permissions before forwarding it.',
    { use: 'unused', notice: 'the leader checks them, with the same answer for the client' },
  ),
  'DigestAuthenticationProvider.superDigest': property(
    text,
    undefined,
    'user:digest of the super user, who has every permission.',
    { defaultText: 'none' },
  ),
  'DigestAuthenticationProvider.enabled': property(bool, true, 'Allow the scheme digest.'),
  'DigestAuthenticationProvider.digestAlg': property(
    choice(['SHA1', 'SHA-256', 'SHA3-256'], { 'SHA-1': 'SHA1' }),
    'SHA1',
    'Hash function of the scheme digest. All servers and stored ACLs must use the same.',
    { strict: true },
  ),
  'enforce.auth.enabled': property(
    bool,
    false,
    'Refuse requests until their connection has authenticated with one of enforce.auth.schemes.',
  ),
  'enforce.auth.schemes': property(
    list,
    [],
    'The schemes for enforce.auth.enabled, of which one is needed.',
    {
      defaultText: 'none',
    },
  ),
  sessionRequireClientSASLAuth: property(
    bool,
    false,
    'Shorthand for enforce.auth.enabled with the scheme sasl.',
  ),
  requireClientAuthScheme: property(text, undefined, 'Appears in many how-tos.', {
    use: 'unused',
    notice: 'no release of ZooKeeper reads it; use enforce.auth.enabled',
  }),
  ensembleAuthName: property(
    list,
    [],
    'Names that the scheme ensemble accepts. A client that expects another ensemble is refused.',
    { defaultText: 'any' },
  ),
} as const

export const sasl = {
  'sasl.usersFile': property(
    path,
    undefined,
    'File with the users of SASL, one line `name=password` per user. It also enables the scheme sasl.',
    { defaultText: 'none', departs: 'Only in zabra.' },
  ),
  'java.security.auth.login.config': bare(
    path,
    undefined,
    'JAAS file with the users of SASL, in the section named by sasl.serverconfig: `user_NAME="password"` of a DigestLoginModule.',
    {
      defaultText: 'none',
      departs: 'Kerberos is not supported; a section that asks for it is an error.',
    },
  ),
  'sasl.serverconfig': property(text, 'Server', 'Section of the JAAS file.'),
  allowSaslFailedClients: property(
    bool,
    false,
    'Keep a client whose SASL exchange failed connected, without an identity.',
  ),
  'SASLAuthenticationProvider.superPassword': property(
    text,
    undefined,
    'Password of the SASL user super, overriding the one in the file.',
    { defaultText: 'none' },
  ),
  superUser: property(text, undefined, 'SASL user with the rights of the super user.', {
    defaultText: 'none',
  }),
} as const
