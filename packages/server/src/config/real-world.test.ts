import { expect, test } from 'vitest'
import { formatDiagnostic, loadConfig } from './config.ts'

/** Configuration files as the named packages write them. */
function load(text: string) {
  const { config, diagnostics } = loadConfig({ text, env: {} })
  return { config, complaints: diagnostics.map(formatDiagnostic) }
}

test("Debian's sample", () => {
  const { config, complaints } = load(`
# ticks, limits
tickTime=2000
initLimit=10
syncLimit=5
dataDir=/var/lib/zookeeper
clientPort=2181
#server.1=zookeeper1:2888:3888
#autopurge.snapRetainCount=3
`)
  expect(complaints).toEqual([])
  expect(config).toMatchObject({
    tickMs: 2000,
    dataDir: '/var/lib/zookeeper',
    dataLogDir: '/var/lib/zookeeper',
    maxClientCnxns: 60,
    ensemble: undefined,
  })
})

test('the container image, whose client port is in the server line', () => {
  const { config, complaints } = load(`dataDir=/data/none
dataLogDir=/datalog
tickTime=2000
initLimit=5
syncLimit=2
autopurge.snapRetainCount=3
autopurge.purgeInterval=0
maxClientCnxns=60
standaloneEnabled=true
admin.enableServer=true
server.1=localhost:2888:3888;2181
`)
  expect(complaints).toEqual([
    'zoo.cfg:11: server.1: is the only member: the server runs on its own',
  ])
  expect(config).toMatchObject({
    clientPort: 2181,
    dataLogDir: '/datalog',
    purge: { intervalMs: 0 },
    ensemble: undefined,
  })
})

test("Kafka's zookeeper.properties", () => {
  const { config, complaints } = load(`
dataDir=/tmp/zookeeper
clientPort=2181
# off: not a production setting
maxClientCnxns=0
admin.enableServer=false
# admin.serverPort=8080
`)
  expect(complaints).toEqual([])
  expect(config).toMatchObject({ tickMs: 3000, maxClientCnxns: 0, admin: { enabled: false } })
})

test("Solr's zoo.cfg", () => {
  const { config, complaints } = load(`tickTime=2000
initLimit=10
syncLimit=5
dataDir=/opt/zookeeper/data
clientPort=2181
maxClientCnxns=60
autopurge.snapRetainCount=3
autopurge.purgeInterval=1
4lw.commands.whitelist=mntr,conf,ruok
`)
  expect(complaints).toEqual([])
  expect(config?.fourLetterWords).toEqual(new Set(['mntr', 'conf', 'ruok', 'srvr']))
})

test("Bitnami's zoo.cfg", () => {
  const { config, complaints } = load(`
clientPort=2181
dataDir=/bitnami/zookeeper/data
tickTime=2000
initLimit=10
syncLimit=5
preAllocSize=65536
snapCount=100000
maxCnxns=0
maxClientCnxns=60
reconfigEnabled=false
quorumListenOnAllIPs=false
autopurge.purgeInterval=0
autopurge.snapRetainCount=3
maxSessionTimeout=40000
4lw.commands.whitelist=srvr, mntr, ruok
admin.serverPort=8080
admin.enableServer=true
metricsProvider.className=org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider
metricsProvider.httpPort=9141
metricsProvider.exportJvmInfo=true
peerType=participant
`)
  expect(complaints).toEqual([
    'zoo.cfg:21: metricsProvider.exportJvmInfo: has no effect here: there is no JVM; metrics of the process are always included',
  ])
  expect(config).toMatchObject({
    metrics: { enabled: true, host: '0.0.0.0', port: 9141 },
    sessionTimeoutMsMax: 40_000,
    fourLetterWords: new Set(['srvr', 'mntr', 'ruok']),
  })
})
