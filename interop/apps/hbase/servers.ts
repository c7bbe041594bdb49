import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { freePorts } from '../../../packages/server/test/support/free-ports.ts'
import { Program } from '../../clients/program.ts'
import { loopback } from '../../src/servers.ts'
import type { Daemon } from '../daemon.ts'
import { log4jProperties } from '../log4j.ts'
import type { Stage } from '../stage.ts'

const mainClasses = {
  master: 'org.apache.hadoop.hbase.master.HMaster',
  region: 'org.apache.hadoop.hbase.regionserver.HRegionServer',
} as const
type Kind = keyof typeof mainClasses

/** Masters and region servers, which use a local folder as their shared file system. */
export class HBaseServers {
  /** By the port that identifies it in HBase. */
  private readonly daemons = new Map<number, Daemon>()
  private readonly stage: Stage
  private readonly classPath: string

  constructor(stage: Stage, classPath: string) {
    this.stage = stage
    this.classPath = classPath
  }

  async start(kind: Kind): Promise<number> {
    const [port = 0] = await freePorts(1)
    const name = `${kind}-${port}`
    const conf = this.configure(name, {
      [kind === 'master' ? 'hbase.master.port' : 'hbase.regionserver.port']: `${port}`,
    })
    const command = [...this.java(conf), mainClasses[kind], 'start']
    this.daemons.set(port, this.stage.daemon(name, command, { cwd: this.stage.dir }))
    return port
  }

  of(port: number): Daemon {
    const daemon = this.daemons.get(port)
    if (daemon === undefined) throw new Error(`nobody is at port ${port}`)
    return daemon
  }

  /** `Store.java` in a separate process. */
  openStore(): Program {
    return new Program([...this.java(this.configure('client', {})), 'Store'])
  }

  private configure(name: string, own: Readonly<Record<string, string>>): string {
    const dir = join(this.stage.dir, name)
    mkdirSync(join(dir, 'tmp'), { recursive: true })
    const settings: Readonly<Record<string, string>> = {
      'hbase.rootdir': `file://${join(this.stage.dir, 'root')}`,
      // The file system with checksums flushes nothing before a file is closed, so a kill would
      // lose rows.
      'fs.file.impl': 'org.apache.hadoop.fs.RawLocalFileSystem',
      'hbase.wal.provider': 'filesystem',
      'hbase.tmp.dir': join(dir, 'tmp'),
      'hbase.cluster.distributed': 'true',
      'hbase.zookeeper.quorum': this.stage.ensemble.connectString,
      'zookeeper.session.timeout': '8000',
      'hbase.master.hostname': 'localhost',
      'hbase.regionserver.hostname': 'localhost',
      'hbase.master.ipc.address': loopback,
      'hbase.regionserver.ipc.address': loopback,
      'hbase.master.info.port': '-1',
      'hbase.regionserver.info.port': '-1',
      'hbase.regionserver.handler.count': '6',
      'hbase.master.wait.on.regionservers.mintostart': '2',
      'hbase.client.pause': '100',
      'hbase.client.retries.number': '60',
      'hbase.client.operation.timeout': '90000',
      'hbase.rpc.timeout': '10000',
      ...own,
    }
    const properties = Object.entries(settings).map(([key, value]) => {
      return `<property><name>${key}</name><value>${value}</value></property>`
    })
    const site = `<configuration>\n${properties.join('\n')}\n</configuration>\n`
    writeFileSync(join(dir, 'hbase-site.xml'), site)
    writeFileSync(join(dir, 'log4j.properties'), log4jProperties)
    return dir
  }

  private java(conf: string): readonly string[] {
    const quick = ['-Xmx512m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
    const opened = [
      'java.lang',
      'java.lang.reflect',
      'java.nio',
      'java.net',
      'java.util',
      'sun.nio.ch',
    ]
    const opens = opened.flatMap((each) => ['--add-opens', `java.base/${each}=ALL-UNNAMED`])
    return ['java', ...quick, ...opens, '-cp', [conf, this.classPath].join(delimiter)]
  }
}
