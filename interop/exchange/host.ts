import { join } from 'node:path'
import { digestComplaints, rememberedDigests } from '../src/digests.ts'
import type { ServerCommand } from '../src/commands.ts'
import { ManagedServer } from '../src/servers.ts'
import { superUserCfg, wholeTree } from '../src/super-user.ts'
import type { Tree } from './tree.ts'

/** Intervals long enough that nothing in a directory changes by itself. */
const properties = ['znode.container.checkIntervalMs=3600000']
const commonCfg = `
tickTime=500
minSessionTimeout=500
maxSessionTimeout=600000
maxClientCnxns=0
preAllocSize=256
extendedTypesEnabled=true
autopurge.purgeInterval=0
4lw.commands.whitelist=*
${superUserCfg}
`

export interface HostOptions {
  /** Contains `data`, and `logs` if they are separate. */
  readonly folder: string
  readonly cfg: string
  readonly separateLogs?: boolean
}

/** One server on a given data directory, from its start to its end. */
export class Host {
  readonly server: ManagedServer

  static async start(command: ServerCommand, options: HostOptions): Promise<Host> {
    const host = new Host(command, options)
    try {
      await host.server.start()
    } catch (error) {
      await host.server.dispose()
      throw error
    }
    return host
  }

  private constructor(command: ServerCommand, { folder, cfg, separateLogs }: HostOptions) {
    const directories = [`dataDir=${join(folder, 'data')}`]
    if (separateLogs === true) directories.push(`dataLogDir=${join(folder, 'logs')}`)
    const lines = `${commonCfg}${directories.join('\n')}\n${cfg}`
    this.server = new ManagedServer(command, { cfg: lines, properties })
  }

  get port(): number {
    return this.server.port
  }

  tree(): Promise<Tree> {
    return wholeTree(this.port)
  }

  digests(): Promise<ReadonlyMap<string, string>> {
    return rememberedDigests(this.server.host, this.port)
  }

  digestComplaints(): string[] {
    return digestComplaints(this.server.log)
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.server.stop(signal)
    await this.server.dispose()
  }
}
