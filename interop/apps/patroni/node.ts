import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { loopback } from '../../src/servers.ts'
import type { Daemon } from '../daemon.ts'
import type { Stage } from '../stage.ts'
import { until } from '../../src/until.ts'
import type { Account, Postgres } from './postgres.ts'

export const scope = 'interop'

export interface NodeOptions {
  readonly name: string
  readonly restPort: number
  readonly postgresPort: number
  readonly patroni: string
  readonly postgres: Postgres
  readonly account: Account
}

/** A Patroni with its PostgreSQL. */
export class PatroniNode {
  readonly name: string
  readonly configFile: string
  readonly postgresPort: number
  private readonly options: NodeOptions
  private readonly dir: string
  private readonly daemon: Daemon

  constructor(stage: Stage, options: NodeOptions) {
    const { name, account, patroni, postgres } = options
    this.name = name
    this.options = options
    this.postgresPort = options.postgresPort
    this.dir = join(stage.dir, name)
    mkdirSync(this.dir)
    chownSync(this.dir, account.uid, account.gid)
    this.configFile = join(this.dir, 'patroni.json')
    const config = this.configuration(stage.ensemble.connectString.split(','))
    writeFileSync(this.configFile, JSON.stringify(config, undefined, 2))
    const killPostgres = (): void => void this.killPostgres()
    process.on('exit', killPostgres)
    stage.atEnd(async () => {
      await this.kill()
      process.off('exit', killPostgres)
    })
    const env = { ...postgres.env, HOME: this.dir }
    const command = [...account.prefix, patroni, this.configFile]
    this.daemon = stage.daemon(name, command, { env, cwd: this.dir })
  }

  start(): void {
    this.daemon.start()
  }

  /** As in a power failure. */
  async kill(): Promise<void> {
    await this.daemon.stop('SIGKILL')
    const pid = this.killPostgres()
    if (pid === undefined) return
    await until(`PostgreSQL of ${this.name} lives on`, 20_000, () => folderOf(pid) === undefined)
  }

  /** Patroni starts PostgreSQL in a separate session, so that it survives Patroni. */
  private killPostgres(): number | undefined {
    const data = join(this.dir, 'data')
    const file = join(data, 'postmaster.pid')
    if (!existsSync(file)) return undefined
    const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
    // The file may be left over, and the process id reused.
    if (folderOf(pid) !== data) return undefined
    process.kill(pid, 'SIGKILL')
    return pid
  }

  /** The state of all nodes from Patroni's HTTP interface; undefined while it does not answer. */
  async cluster(): Promise<readonly MemberState[] | undefined> {
    try {
      const answer = await fetch(`http://${loopback}:${this.options.restPort}/cluster`, {
        signal: AbortSignal.timeout(3000),
      })
      return ((await answer.json()) as { members: MemberState[] }).members
    } catch {
      return undefined
    }
  }

  private configuration(hosts: readonly string[]): object {
    const { name, restPort, postgresPort, postgres } = this.options
    const rest = `${loopback}:${restPort}`
    const address = `${loopback}:${postgresPort}`
    const password = 'interop'
    return {
      scope,
      name,
      restapi: { listen: rest, connect_address: rest },
      zookeeper: { hosts },
      bootstrap: {
        dcs: {
          ttl: 20,
          loop_wait: 1,
          retry_timeout: 5,
          synchronous_mode: true,
          postgresql: { use_pg_rewind: true, use_slots: true },
        },
        initdb: [{ encoding: 'UTF8' }, { auth: 'trust' }, 'data-checksums'],
      },
      postgresql: {
        listen: address,
        connect_address: address,
        data_dir: join(this.dir, 'data'),
        bin_dir: postgres.bin,
        pgpass: join(this.dir, 'pgpass'),
        authentication: {
          superuser: { username: 'postgres', password },
          replication: { username: 'replicator', password },
          rewind: { username: 'rewinder', password },
        },
        pg_hba: [
          'local all all trust',
          `host all all ${loopback}/32 trust`,
          `host replication all ${loopback}/32 trust`,
        ],
        parameters: { unix_socket_directories: this.dir, shared_buffers: '32MB' },
      },
    }
  }
}

export interface MemberState {
  readonly name: string
  readonly role: string
  readonly state: string
  readonly timeline?: number
}

/** The working directory of a process; undefined if it does not exist. */
function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return undefined
  }
}
