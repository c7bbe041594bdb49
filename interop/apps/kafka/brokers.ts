import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from '../../../packages/server/test/support/free-ports.ts'
import { loopback } from '../../src/servers.ts'
import type { Daemon } from '../daemon.ts'
import type { Stage } from '../stage.ts'
import { until, untilDone } from '../../src/until.ts'

const ids = [1, 2, 3]
const chroot = '/kafka'

const mainClasses = {
  TopicCommand: 'org.apache.kafka.tools.TopicCommand',
  LeaderElectionCommand: 'org.apache.kafka.tools.LeaderElectionCommand',
  ConfigCommand: 'kafka.admin.ConfigCommand',
  AclCommand: 'kafka.admin.AclCommand',
} as const

/** Three Kafka brokers that use a chroot of the ensemble. */
export class Brokers {
  /** For Kafka's own clients. */
  readonly bootstrap: string
  private readonly stage: Stage
  private readonly classPath: string
  private readonly ports: readonly number[]
  private readonly daemons = new Map<number, Daemon>()

  static async open(stage: Stage, classPath: string): Promise<Brokers> {
    return new Brokers(stage, classPath, await freePorts(ids.length))
  }

  private constructor(stage: Stage, classPath: string, ports: readonly number[]) {
    this.stage = stage
    this.classPath = classPath
    this.ports = ports
    this.bootstrap = ports.map((port) => `${loopback}:${port}`).join()
  }

  startAll(): void {
    for (const id of ids) {
      const folder = join(this.stage.dir, `broker-${id}`)
      mkdirSync(folder)
      const file = join(folder, 'server.properties')
      writeFileSync(file, this.properties(id, folder))
      const command = [...this.java('info'), 'kafka.Kafka', file]
      this.daemons.set(id, this.stage.daemon(`broker-${id}`, command))
    }
  }

  of(id: number): Daemon {
    const daemon = this.daemons.get(id)
    if (daemon === undefined) throw new Error(`there is no broker ${id}`)
    return daemon
  }

  /** Stops all at once: the last brokers have no other broker to hand over to. */
  async stopAll(): Promise<void> {
    await Promise.all(Array.from(this.daemons.values(), (daemon) => daemon.stop('SIGTERM')))
  }

  async registered(): Promise<number[]> {
    return (await this.children('/brokers/ids')).map(Number)
  }

  async controller(): Promise<number | undefined> {
    const path = `${chroot}/controller`
    const reply = await this.stage.look((client) => client.call('getData', { path, watch: false }))
    if (reply.response === undefined) return undefined
    const { brokerid } = JSON.parse(Buffer.from(reply.response.data ?? []).toString()) as {
      brokerid: number
    }
    return brokerid
  }

  /** The names below one of Kafka's nodes; empty if the node does not exist. */
  async children(below: string): Promise<readonly string[]> {
    const path = `${chroot}${below}`
    const { response } = await this.stage.look((client) => {
      return client.call('getChildren', { path, watch: false })
    })
    return response?.children ?? []
  }

  async createTopic(name: string, replicas = 3): Promise<void> {
    const shape = ['--partitions', '6', '--replication-factor', `${replicas}`]
    // Brokers need a moment to find each other.
    await untilDone(60_000, () => this.tool('TopicCommand', '--create', '--topic', name, ...shape))
  }

  async untilInSync(timeoutMs: number): Promise<void> {
    await until('some replicas are not in sync', timeoutMs, async () => {
      const lagging = await this.tool('TopicCommand', '--describe', '--under-replicated-partitions')
      return !lagging.includes('Partition:')
    })
  }

  /** Runs one of Kafka's own commands, as its shell scripts do. */
  tool(name: keyof typeof mainClasses, ...args: readonly string[]): Promise<string> {
    const where = ['--bootstrap-server', this.bootstrap]
    return this.stage.tool([...this.java('error'), mainClasses[name], ...where, ...args])
  }

  private java(logLevel: string): readonly string[] {
    const quick = ['-Xmx384m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
    const log = [
      `-Dorg.slf4j.simpleLogger.defaultLogLevel=${logLevel}`,
      '-Dorg.slf4j.simpleLogger.showDateTime=true',
      '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
    ]
    return ['java', ...quick, ...log, '-cp', this.classPath]
  }

  private properties(id: number, folder: string): string {
    const { ensemble } = this.stage
    return `
broker.id=${id}
listeners=PLAINTEXT://${loopback}:${this.ports[id - 1]}
log.dirs=${join(folder, 'logs')}
zookeeper.connect=${ensemble.connectString}${chroot}
zookeeper.session.timeout.ms=6000
zookeeper.connection.timeout.ms=30000
authorizer.class.name=kafka.security.authorizer.AclAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS
default.replication.factor=3
min.insync.replicas=2
unclean.leader.election.enable=false
auto.create.topics.enable=false
offsets.topic.replication.factor=3
offsets.topic.num.partitions=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
group.initial.rebalance.delay.ms=0
replica.lag.time.max.ms=5000
`
  }
}
