import { property, setting } from '../key.ts'
import {
  address,
  bool,
  boolOrDefault,
  choice,
  int,
  kib,
  list,
  ms,
  path,
  port,
  text,
} from '../value-types.ts'

const validPort = { min: 0, max: 65_535, outside: 'error' } as const

/** Cheap words that change nothing and reveal no session id; the others must be enabled. */
const harmlessWords = [
  'srvr',
  'ruok',
  'isro',
  'mntr',
  'conf',
  'stat',
  'envi',
  'dirs',
  'wchs',
] as const

export const admin = {
  '4lw.commands.whitelist': property(
    list,
    harmlessWords,
    'Four-letter words that the server answers; * for all. It always answers srvr, and isro if readonlymode.enabled is set.',
    {
      departs:
        'Only srvr by default in ZooKeeper. Here, all words that are cheap, change nothing and print no session id; cons, dump, wchc, wchp, crst, srst and stmk must be listed.',
    },
  ),
  'admin.enableServer': property(
    boolOrDefault,
    true,
    'Serve admin commands, metrics and probes over HTTP.',
    {
      flag: '--admin',
    },
  ),
  'admin.serverAddress': property(address, '127.0.0.1', 'Address of the HTTP server.', {
    flag: '--admin-address',
    departs: '0.0.0.0 by default in ZooKeeper, open to everybody.',
  }),
  'admin.serverPort': property(port, 8080, 'Port of the HTTP server.', {
    range: validPort,
    flag: '--admin-port',
  }),
  'admin.commandURL': property(text, '/commands', 'Path of the commands.'),
  'admin.idleTimeout': property(ms, 30_000, 'An idle HTTP connection is closed after this time.', {
    range: { min: 1, outside: 'default' },
  }),
  'admin.httpVersion': property(int, 11, 'HTTP version, 11 for 1.1.', {
    use: 'unused',
    notice: 'HTTP/1.1 is spoken',
  }),
  'admin.snapshot.enabled': property(bool, true, 'Allow the command snapshot.'),
  'admin.restore.enabled': property(bool, true, 'Allow the command restore.'),
  'admin.rateLimiterIntervalInMS': property(
    ms,
    300_000,
    'Minimum time between two uses of snapshot, and between two uses of restore.',
    { range: { min: 0, outside: 'default' } },
  ),
  'admin.portUnification': property(
    bool,
    false,
    'Accept HTTP and HTTPS on one port, including the metrics port.',
  ),
  'admin.forceHttps': property(bool, false, 'Accept only HTTPS, including on the metrics port.'),
  'admin.needClientAuth': property(bool, false, 'HTTPS clients must present a certificate.'),
  'admin.wantClientAuth': property(
    bool,
    false,
    'HTTPS clients are asked for a certificate, and accepted without one.',
    { departs: 'Only in zabra.' },
  ),
  'metricsProvider.className': setting(
    text,
    undefined,
    'org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider opens the metrics port.',
    { defaultText: 'none' },
  ),
  'metricsProvider.httpHost': setting(address, '0.0.0.0', 'Address of the metrics port.'),
  'metricsProvider.httpPort': setting(port, 7000, 'Port of the metrics page, GET /metrics.', {
    range: validPort,
    flag: '--metrics-port',
  }),
  'metricsProvider.exportJvmInfo': setting(bool, true, 'Metrics of the JVM.', {
    use: 'unused',
    notice: 'there is no JVM; metrics of the process are always included',
  }),
  'audit.enable': property(bool, false, 'Write changes, and attempted changes, to an audit log.'),
  'audit.file': property(path, 'zookeeper_audit.log', 'The audit log; `-` is standard output.', {
    departs: 'Only in zabra; ZooKeeper sets it in its logging configuration.',
  }),
  'audit.format': property(
    choice(['text', 'json']),
    'text',
    "text is ZooKeeper's format. json is one object per line, which also has zxid and error.",
    { strict: true, departs: 'Only in zabra.' },
  ),
  'audit.maxFileSizeInKb': property(
    kib,
    10 * 1024 * 1024,
    'A larger audit log is rotated: it becomes NAME.1, the previous NAME.1 becomes NAME.2, and so on. 0 for never.',
    { departs: 'Only in zabra.', range: { min: 0, outside: 'default' } },
  ),
  'audit.maxFiles': property(int, 10, 'How many rotated files to keep.', {
    departs: 'Only in zabra.',
    range: { min: 1, outside: 'default' },
  }),
  'audit.impl.class': property(text, undefined, 'Java class of the audit log.', {
    use: 'unused',
    notice: 'Java classes cannot be loaded',
  }),
} as const
