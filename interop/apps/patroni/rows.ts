import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { loopback } from '../../src/servers.ts'
import { runTool } from '../../src/tools.ts'

/** Writes numbered rows to the current primary, and records which were acknowledged. */
export class Rows {
  /** The number of attempts without an answer, or refused, which are not repeated. */
  failures = 0
  private readonly psql: string
  private readonly ports: readonly number[]
  private readonly acknowledged: number[] = []
  private next = 0
  private isWriting = false
  private writing: Promise<void> = Promise.resolve()

  constructor(bin: string, ports: readonly number[]) {
    this.psql = join(bin, 'psql')
    this.ports = ports
  }

  get count(): number {
    return this.acknowledged.length
  }

  start(): void {
    this.isWriting = true
    this.writing = this.write()
  }

  async stop(): Promise<void> {
    this.isWriting = false
    await this.writing
  }

  /** Waits until this many more rows are acknowledged. */
  async untilMore(count: number, timeoutMs: number): Promise<void> {
    const wanted = this.count + count
    const deadline = Date.now() + timeoutMs
    while (this.count < wanted) {
      if (Date.now() > deadline) throw new Error(`rows do not get on: ${this.count} of ${wanted}`)
      await delay(100)
    }
  }

  /** The acknowledged rows that a node does not have. */
  async missingOn(port: number): Promise<number> {
    const found = await this.query(port, 'select n from ledger')
    const there = new Set(found.split('\n').map(Number))
    return this.acknowledged.filter((n) => !there.has(n)).length
  }

  /** Queries one node, whatever its role. */
  async query(port: number, sql: string): Promise<string> {
    return this.run(`host=${loopback} port=${port}`, sql)
  }

  /** Queries the primary, which libpq finds by itself. */
  async queryPrimary(sql: string): Promise<string> {
    const hosts = this.ports.map(() => loopback).join()
    return this.run(`host=${hosts} port=${this.ports.join()} target_session_attrs=read-write`, sql)
  }

  private async write(): Promise<void> {
    while (this.isWriting) {
      const n = this.next++
      try {
        await this.queryPrimary(`insert into ledger values (${n})`)
        this.acknowledged.push(n)
      } catch {
        this.failures++
        await delay(100)
      }
    }
  }

  private async run(where: string, sql: string): Promise<string> {
    const target = `${where} user=postgres dbname=postgres connect_timeout=2`
    const args = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', target, '-c', sql]
    const { ok, output } = await runTool(this.psql, args, { timeoutMs: 10_000 })
    // A primary that stops waiting for its standby prints a warning, and the row is not safe.
    if (!ok || output.includes('WARNING')) throw new Error(output.trim())
    return output.trim()
  }
}
