import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'
import { askFourLetters, ManagedServer, type ServerCommand } from '../src/servers.ts'
import { readTree, type Tree } from './tree.ts'

const superPassword = 'super:exchange'
const superDigest = createHash('sha1').update(superPassword).digest('base64')

/** Long enough intervals that nothing in a directory changes by itself. */
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
DigestAuthenticationProvider.superDigest=super:${superDigest}
`

export interface HostOptions {
  /** Holds `data`, and `logs` where they are kept apart. */
  readonly folder: string
  readonly cfg: string
  readonly separateLogs?: boolean
}

/** One server on a given data directory, from its start to its end. */
export class Host {
  readonly server: ManagedServer

  static async start(command: ServerCommand, options: HostOptions): Promise<Host> {
    const host = new Host(command, options)
    await host.server.start()
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

  async tree(): Promise<Tree> {
    const client = await RawClient.connect(this.port)
    await client.must('auth', { type: 0, scheme: 'digest', auth: Buffer.from(superPassword) })
    const tree = await readTree(client)
    await client.close()
    return tree
  }

  /** Digests by zxid, as the server remembers them of every 128th transaction. */
  async digests(): Promise<ReadonlyMap<string, string>> {
    const answer = await askFourLetters(this.server.host, this.port, 'hash')
    const pairs = answer.matchAll(/^([0-9a-f]+)\s*:\s*(-?\d+)$/gm)
    return new Map(Array.from(pairs, ([, zxid = '', digest = '']) => [zxid, digest]))
  }

  /** Lines in which the server says that a digest is not what the log promises. */
  digestComplaints(): string[] {
    return this.server
      .logTail(10_000)
      .split('\n')
      .filter((line) => /digests? (are|is) not matching|has the digest/i.test(line))
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.server.stop(signal)
    await this.server.dispose()
  }
}
