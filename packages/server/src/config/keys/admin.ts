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

/** Cheap words that change nothing and tell no session id; the others must be asked for. */
export const harmlessWords = [
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
    'Four-letter words that are answered; * for all. srvr always is, isro also with readonlymode.enabled.',
    {
      departs:
        'Only srvr by default in ZooKeeper. Here all words that are cheap, change nothing and tell no session id; cons, dump, wchc, wchp, crst, srst and stmk must be listed.',
    },
  ),
  'admin.enableServer': property(boolOrDefault, true, 'Commands and state over HTTP.', {
    flag: '--admin',
  }),
  'admin.serverAddress': property(address, '127.0.0.1', 'Address of the HTTP server.', {
    flag: '--admin-address',
    departs: '0.0.0.0 by default in ZooKeeper: open to the world.',
  }),
  'admin.serverPort': property(port, 8080, 'Port of the HTTP server.', {
    range: validPort,
    flag: '--admin-port',
  }),
  'admin.commandURL': property(text, '/commands', 'Path of the commands.'),
  'admin.idleTimeout': property(ms, 30_000, 'An idle HTTP connection is closed after this.', {
    range: { min: 1, outside: 'default' },
  }),
  'admin.httpVersion': property(int, 11, 'HTTP version, 11 for 1.1.', {
    use: 'unused',
    notice: 'HTTP/1.1 is spoken',
  }),
  'admin.snapshot.enabled': property(bool, true, 'The command snapshot can be used.'),
  'admin.restore.enabled': property(bool, true, 'The command restore can be used.'),
  'admin.rateLimiterIntervalInMS': property(
    ms,
    300_000,
    'The commands snapshot and restore are each allowed once in this time.',
    { range: { min: 0, outside: 'default' } },
  ),
  'admin.portUnification': property(
    bool,
    false,
    'HTTP and HTTPS on one port, the metrics port as well.',
  ),
  'admin.forceHttps': property(bool, false, 'HTTPS only, on the metrics port as well.'),
  'admin.needClientAuth': property(bool, false, 'HTTPS clients must present a certificate.'),
  'metricsProvider.className': setting(
    text,
    undefined,
    'org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider turns the metrics port on.',
    { defaultText: 'none' },
  ),
  'metricsProvider.httpHost': setting(address, '0.0.0.0', 'Address of the metrics port.'),
  'metricsProvider.httpPort': setting(port, 7000, 'Port that GET /metrics is answered on.', {
    range: validPort,
    flag: '--metrics-port',
  }),
  'metricsProvider.exportJvmInfo': setting(bool, true, 'Metrics of the Java machine.', {
    use: 'unused',
    notice: 'there is no Java machine; metrics of the process are always included',
  }),
  'audit.enable': property(
    bool,
    false,
    'Changes, and attempts at them, are written to an audit log.',
  ),
  'audit.file': property(path, 'zookeeper_audit.log', 'The audit log; `-` is standard output.', {
    departs: "zabra's own; ZooKeeper has it in the configuration of its logging.",
  }),
  'audit.format': property(
    choice(['text', 'json']),
    'text',
    'text is what ZooKeeper writes. json has an object on each line, with zxid and error as well.',
    { strict: true, departs: "zabra's own." },
  ),
  'audit.maxFileSizeInKb': property(
    kib,
    10 * 1024 * 1024,
    'A larger audit log is moved away: to NAME.1, what was there to NAME.2, and so on. 0 for never.',
    { departs: "zabra's own.", range: { min: 0, outside: 'default' } },
  ),
  'audit.maxFiles': property(int, 10, 'How many of those are kept.', {
    departs: "zabra's own.",
    range: { min: 1, outside: 'default' },
  }),
  'audit.impl.class': property(text, undefined, 'Java class of the audit log.', {
    use: 'unused',
    notice: 'Java classes cannot be loaded',
  }),
} as const
