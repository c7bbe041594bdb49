import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { freePorts } from '../../../packages/server/test/support/free-ports.ts'
import { loopback } from '../../src/servers.ts'
import type { Daemon } from '../daemon.ts'
import { log4jProperties } from '../log4j.ts'
import type { Stage } from '../stage.ts'

export type NameNodeId = 'nn1' | 'nn2'
const ids: readonly NameNodeId[] = ['nn1', 'nn2']
const service = 'interop'

const mainClasses = {
  namenode: 'org.apache.hadoop.hdfs.server.namenode.NameNode',
  datanode: 'org.apache.hadoop.hdfs.server.datanode.DataNode',
  zkfc: 'org.apache.hadoop.hdfs.tools.DFSZKFailoverController',
  haadmin: 'org.apache.hadoop.hdfs.tools.DFSHAAdmin',
  fs: 'org.apache.hadoop.fs.FsShell',
} as const
type Command = keyof typeof mainClasses

/** Two NameNodes with a failover controller each, and one DataNode. */
export class HdfsServers {
  private readonly stage: Stage
  private readonly classPath: string
  private readonly ports: readonly number[]
  private readonly daemons = new Map<string, Daemon>()

  static async open(stage: Stage, classPath: string): Promise<HdfsServers> {
    return new HdfsServers(stage, classPath, await freePorts(9))
  }

  private constructor(stage: Stage, classPath: string, ports: readonly number[]) {
    this.stage = stage
    this.classPath = classPath
    this.ports = ports
    for (const id of ids) this.configure(id)
  }

  /** Runs one of Hadoop's commands, with the configuration of a NameNode. */
  run(id: NameNodeId, command: Command, ...args: readonly string[]): Promise<string> {
    return this.stage.tool([...this.java(id), mainClasses[command], ...args])
  }

  start(id: NameNodeId, command: 'namenode' | 'datanode' | 'zkfc'): Daemon {
    const name = `${command}-${id}`
    const known = this.daemons.get(name)
    if (known !== undefined) {
      known.start()
      return known
    }
    const daemon = this.stage.daemon(name, [...this.java(id), mainClasses[command]])
    this.daemons.set(name, daemon)
    return daemon
  }

  kill(id: NameNodeId, command: 'namenode' | 'zkfc'): Promise<void> {
    return this.daemons.get(`${command}-${id}`)!.stop('SIGKILL')
  }

  /** The NameNode that reports to be active. */
  async active(): Promise<NameNodeId | undefined> {
    const states = await Promise.all(
      ids.map((id) => this.run('nn1', 'haadmin', '-getServiceState', id).catch(String)),
    )
    const active = ids.filter((_, i) => /^active$/m.test(states[i]!))
    if (active.length > 1) throw new Error('both NameNodes are active')
    return active[0]
  }

  private configure(id: NameNodeId): void {
    const dir = join(this.stage.dir, id)
    // The pages for browsers are not on Maven Central, but the servers require their folders.
    for (const folder of ['tmp', 'webapps/hdfs', 'webapps/datanode']) {
      mkdirSync(join(dir, folder), { recursive: true })
    }
    const address = (port: number): string => `${loopback}:${this.ports[port]}`
    const settings: Readonly<Record<string, string>> = {
      'fs.defaultFS': `hdfs://${service}`,
      'hadoop.tmp.dir': join(dir, 'tmp'),
      'ha.zookeeper.quorum': this.stage.ensemble.connectString,
      'ha.zookeeper.session-timeout.ms': '6000',
      'dfs.nameservices': service,
      [`dfs.ha.namenodes.${service}`]: ids.join(),
      'dfs.ha.namenode.id': id,
      ...Object.fromEntries(
        ids.flatMap((each, i) => [
          [`dfs.namenode.rpc-address.${service}.${each}`, address(3 * i)],
          [`dfs.namenode.http-address.${service}.${each}`, address(3 * i + 1)],
          [`dfs.ha.zkfc.port.${service}.${each}`, `${this.ports[3 * i + 2]}`],
        ]),
      ),
      [`dfs.client.failover.proxy.provider.${service}`]:
        'org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider',
      'dfs.ha.automatic-failover.enabled': 'true',
      'dfs.ha.fencing.methods': 'shell(/bin/true)',
      'dfs.ha.tail-edits.period': '1s',
      'dfs.namenode.shared.edits.dir': `file://${join(this.stage.dir, 'shared')}`,
      'dfs.namenode.name.dir': `file://${join(dir, 'name')}`,
      'dfs.namenode.datanode.registration.ip-hostname-check': 'false',
      'dfs.namenode.safemode.extension': '0',
      'dfs.datanode.address': address(6),
      'dfs.datanode.http.address': address(7),
      'dfs.datanode.ipc.address': address(8),
      'dfs.datanode.data.dir': `file://${join(this.stage.dir, 'blocks')}`,
      'dfs.replication': '1',
    }
    const properties = Object.entries(settings).map(([key, value]) => {
      return `<property><name>${key}</name><value>${value}</value></property>`
    })
    const site = `<configuration>\n${properties.join('\n')}\n</configuration>\n`
    for (const file of ['core-site.xml', 'hdfs-site.xml']) writeFileSync(join(dir, file), site)
    writeFileSync(join(dir, 'log4j.properties'), log4jProperties)
  }

  private java(id: NameNodeId): readonly string[] {
    const quick = ['-Xmx384m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
    const opens = ['--add-opens', 'java.base/java.lang=ALL-UNNAMED']
    const classPath = [join(this.stage.dir, id), this.classPath].join(delimiter)
    return ['java', ...quick, ...opens, '-cp', classPath]
  }
}
