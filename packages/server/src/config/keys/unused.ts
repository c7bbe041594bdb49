import { property, setting } from '../key.ts'
import type { Key } from '../key.ts'
import { text } from '../value-types.ts'

const threads = 'it tunes threads; this server has one event loop'
const java = 'it concerns the JVM'
const netty = 'it tunes the Netty library'
const kerberos = 'Kerberos is not supported'
const internal = 'it tunes internals of the Java server that do not exist here'

function unusedProperty(docs: string, notice: string): Key<string, undefined> {
  return property(text, undefined, docs, { use: 'unused', notice })
}

function unusedSetting(docs: string, notice: string): Key<string, undefined> {
  return setting(text, undefined, docs, { use: 'unused', notice })
}

export const unused = {
  serverCnxnFactory: unusedProperty(
    'NIO or Netty.',
    'there is one network layer, which does what both do',
  ),
  'nio.numSelectorThreads': unusedProperty('Threads that read.', threads),
  'nio.numWorkerThreads': unusedProperty('Threads that work.', threads),
  'nio.directBufferBytes': unusedProperty('Size of direct buffers.', internal),
  'nio.shutdownTimeout': unusedProperty('Wait for threads at shutdown.', threads),
  'commitProcessor.numWorkerThreads': unusedProperty('Threads that commit.', threads),
  'commitProcessor.shutdownTimeout': unusedProperty('Wait for them at shutdown.', threads),
  'commitProcessor.maxReadBatchSize': unusedProperty(
    'Reads before commits are looked at.',
    internal,
  ),
  'commitProcessor.maxCommitBatchSize': unusedProperty('Commits before reads.', internal),
  'request_throttler.shutdownTimeout': unusedProperty('Wait for the throttler.', threads),
  'quorum.cnxn.threads.size': unusedSetting('Threads that authenticate servers.', threads),
  'learner.asyncSending': unusedProperty('A thread that sends to the leader.', threads),
  'learner.closeSocketAsync': unusedProperty('A thread that closes sockets.', threads),
  'leader.closeSocketAsync': unusedProperty('A thread that closes sockets.', threads),
  'leader.ackLoggingFrequency': unusedProperty('How many acknowledgements are logged.', internal),
  'follower.skipLearnerRequestToNextProcessor': unusedProperty('Order of processors.', internal),
  forward_learner_requests_to_commit_processor_disabled: unusedProperty(
    'Order of processors.',
    internal,
  ),
  maxResponseCacheSize: unusedProperty('Cached replies of getData.', 'replies need no cache'),
  maxGetChildrenResponseCacheSize: unusedProperty(
    'Cached replies of getChildren.',
    'replies need no cache',
  ),
  intBufferStartingSizeBytes: unusedProperty('First size of a reply buffer.', internal),
  watchManagerName: unusedProperty('Java class that keeps watches.', internal),
  watcherCleanThreadsNum: unusedProperty('Threads that clean watches.', threads),
  watcherCleanThreshold: unusedProperty('Dead watches before a cleaning.', internal),
  watcherCleanIntervalInSeconds: unusedProperty('Interval of cleaning.', internal),
  maxInProcessingDeadWatchers: unusedProperty('Dead watches in cleaning.', internal),
  bitHashCacheSize: unusedProperty('Cache of watch sets.', internal),
  'pathStats.enabled': unusedProperty('Counts requests by path.', internal),
  'pathStats.slotCapacity': unusedProperty('Its slots.', internal),
  'pathStats.slotDuration': unusedProperty('Their length.', internal),
  'pathStats.maxDepth': unusedProperty('Depth of paths counted.', internal),
  'pathStats.initialDelay': unusedProperty('Its first report.', internal),
  'pathStats.delay': unusedProperty('Interval of its reports.', internal),
  'pathStats.topPathMax': unusedProperty('Paths reported.', internal),
  'pathStats.sampleRate': unusedProperty('Part of the requests counted.', internal),
  'messageTracker.BufferSize': unusedProperty('Last messages kept.', internal),
  'messageTracker.Enabled': unusedProperty('Keeps the last messages.', internal),
  'netty.advancedFlowControl.enabled': unusedProperty('Flow control.', netty),
  'netty.server.earlyDropSecureConnectionHandshakes': unusedProperty('Drops early.', netty),
  'jvm.pause.monitor': unusedSetting('Watches for pauses of the JVM.', java),
  'jvm.pause.info-threshold.ms': unusedSetting('Pauses reported.', java),
  'jvm.pause.warn-threshold.ms': unusedSetting('Pauses that cause a warning.', java),
  'jvm.pause.sleep.time.ms': unusedSetting('Interval of that check.', java),
  'jmx.log4j.disable': unusedProperty('Logging over JMX.', java),
  'jmx.log4j.mbean': unusedProperty('Logging over JMX.', java),
  'kerberos.removeHostFromPrincipal': unusedProperty('Shortens identities.', kerberos),
  'kerberos.removeRealmFromPrincipal': unusedProperty('Shortens identities.', kerberos),
  'kerberos.canonicalizeHostNames': unusedProperty('Names of servers.', kerberos),
  'security.auth_to_local': unusedProperty('Kerberos name rules.', kerberos),
  requireKerberosConfig: unusedProperty('Insists on krb5.conf.', kerberos),
  letAnySaslUserDoX: unusedProperty('A test hook.', 'it was meant only for tests'),
} as const
