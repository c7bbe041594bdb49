import { join } from 'node:path'
import { freePorts } from '../../../packages/server/test/support/free-ports.ts'
import { loopback } from '../../src/servers.ts'
import type { Daemon } from '../daemon.ts'
import type { Stage } from '../stage.ts'
import { until } from '../../src/until.ts'

const chroot = '/solr'

/** Three Solr nodes of one cloud. */
export class SolrNodes {
  private readonly stage: Stage
  private readonly classPath: string
  private readonly daemons = new Map<number, Daemon>()

  constructor(stage: Stage, classPath: string) {
    this.stage = stage
    this.classPath = classPath
  }

  async start(count: number): Promise<void> {
    for (const port of await freePorts(count)) {
      const home = join(this.stage.dir, `node-${port}`)
      const zookeeper = `-DzkHost=${this.zkHost}`
      const command = [...this.java('warn'), zookeeper, ...this.main('Node'), home, `${port}`]
      this.daemons.set(port, this.stage.daemon(`solr-${port}`, command, { cwd: this.stage.dir }))
    }
  }

  get zkHost(): string {
    return `${this.stage.ensemble.connectString}${chroot}`
  }

  of(port: number): Daemon {
    const daemon = this.daemons.get(port)
    if (daemon === undefined) throw new Error(`nobody is at port ${port}`)
    return daemon
  }

  /** Runs Solr's own command line, as `bin/solr` does. */
  control(...args: readonly string[]): Promise<string> {
    const main = this.main('org.apache.solr.cli.SolrCLI')
    const home = `-Dsolr.install.dir=${this.stage.dir}`
    return this.stage.tool([...this.java('error'), home, ...main, ...args])
  }

  /** Asks the nodes in turn until one answers successfully. */
  async ask<T>(path: string, body?: unknown): Promise<T> {
    let last = new Error('no node is running')
    for (const [port, daemon] of this.daemons) {
      if (!daemon.isRunning) continue
      try {
        const answer = await fetch(`http://${loopback}:${port}/solr/${path}`, {
          signal: AbortSignal.timeout(60_000),
          ...(body === undefined
            ? {}
            : {
                method: 'POST',
                body: JSON.stringify(body),
                headers: { 'content-type': 'application/json' },
              }),
        })
        const text = await answer.text()
        if (answer.ok) return JSON.parse(text) as T
        last = new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`)
      } catch (error) {
        last = new Error(`${path}: ${String(error)}`, { cause: error })
      }
    }
    throw last
  }

  async untilLive(count: number, timeoutMs: number): Promise<void> {
    await until(`not ${count} nodes are live`, timeoutMs, async () => {
      return (await this.children('/live_nodes')).length === count
    })
  }

  /** The port of the overseer node. */
  async overseer(): Promise<number | undefined> {
    const path = `${chroot}/overseer_elect/leader`
    const { response } = await this.stage.look((client) => {
      return client.call('getData', { path, watch: false })
    })
    if (response === undefined) return undefined
    // Its id consists of the session, the node's name and a number.
    const { id } = JSON.parse(Buffer.from(response.data ?? []).toString()) as { id: string }
    return Number(/:(\d+)_solr/.exec(id)?.[1])
  }

  async children(below: string): Promise<readonly string[]> {
    const path = `${chroot}${below}`
    const { response } = await this.stage.look((client) => {
      return client.call('getChildren', { path, watch: false })
    })
    return response?.children ?? []
  }

  private java(level: string): readonly string[] {
    const quick = ['-Xmx512m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
    return ['java', ...quick, `-Dorg.slf4j.simpleLogger.defaultLogLevel=${level}`]
  }

  private main(name: string): readonly string[] {
    return ['-cp', this.classPath, name]
  }
}
