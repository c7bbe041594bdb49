import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loopback } from '../../src/servers.ts'
import type { Daemon } from '../daemon.ts'
import type { Unpacked } from '../install/debian.ts'
import type { Stage } from '../stage.ts'

export const cluster = 'pair'

export interface ReplicaPorts {
  readonly http: number
  readonly tcp: number
  readonly interserver: number
}

/** One ClickHouse server. */
export class Replica {
  readonly name: string
  private readonly ports: ReplicaPorts
  private readonly daemon: Daemon

  /** `all` are the ports of all replicas, including its own. */
  constructor(
    stage: Stage,
    debian: Unpacked,
    name: string,
    ports: ReplicaPorts,
    all: readonly ReplicaPorts[],
  ) {
    this.name = name
    this.ports = ports
    const dir = join(stage.dir, name)
    mkdirSync(dir)
    const config = join(dir, 'config.xml')
    writeFileSync(config, configuration(stage, dir, name, ports, all))
    writeFileSync(join(dir, 'users.xml'), users)
    const command = [join(debian.root, 'usr/sbin/clickhouse-server'), `--config-file=${config}`]
    this.daemon = stage.daemon(name, command, { env: debian.env, cwd: dir })
  }

  start(): void {
    this.daemon.start()
  }

  kill(): Promise<void> {
    return this.daemon.stop('SIGKILL')
  }

  /** Rows as tab-separated lines; throws the server's message if it refuses. */
  async query(sql: string): Promise<string> {
    const answer = await fetch(`http://${loopback}:${this.ports.http}/`, {
      method: 'POST',
      body: sql,
      signal: AbortSignal.timeout(90_000),
    })
    const text = (await answer.text()).trim()
    if (!answer.ok) throw new Error(`${this.name}: ${text.slice(0, 400)}`)
    // A statement for the cluster returns one line per host, even if the host refuses it.
    if (/^\S+\t\d+\t[1-9]\d*\t/m.test(text) && sql.includes('ON CLUSTER')) throw new Error(text)
    return text
  }
}

const users = `<yandex>
  <profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
  <users><default>
    <password></password><networks><ip>::/0</ip></networks>
    <profile>default</profile><quota>default</quota>
  </default></users>
  <quotas><default></default></quotas>
</yandex>
`

function configuration(
  stage: Stage,
  dir: string,
  name: string,
  ports: ReplicaPorts,
  all: readonly ReplicaPorts[],
): string {
  const zookeepers = stage.ensemble.servers.map(({ host, port }, i) => {
    return `<node index="${i + 1}"><host>${host}</host><port>${port}</port></node>`
  })
  const replicas = all.map(({ tcp }) => {
    return `<replica><host>${loopback}</host><port>${tcp}</port></replica>`
  })
  return `<yandex>
  <logger><level>information</level><console>1</console></logger>
  <http_port>${ports.http}</http_port>
  <tcp_port>${ports.tcp}</tcp_port>
  <interserver_http_port>${ports.interserver}</interserver_http_port>
  <interserver_http_host>${loopback}</interserver_http_host>
  <listen_host>${loopback}</listen_host>
  <path>${dir}/data/</path>
  <tmp_path>${dir}/tmp/</tmp_path>
  <user_files_path>${dir}/files/</user_files_path>
  <format_schema_path>${dir}/schemas/</format_schema_path>
  <users_config>users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <mark_cache_size>104857600</mark_cache_size>
  <zookeeper>
    ${zookeepers.join('\n    ')}
    <session_timeout_ms>10000</session_timeout_ms>
  </zookeeper>
  <remote_servers><${cluster}><shard>
    <internal_replication>true</internal_replication>
    ${replicas.join('\n    ')}
  </shard></${cluster}></remote_servers>
  <macros><replica>${name}</replica></macros>
  <distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
</yandex>
`
}
