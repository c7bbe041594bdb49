import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type Client } from '@zabra/client'
import { superDigest, superPassword } from '../../packages/cli/test/support/super-user.ts'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { runTool } from '../src/tools.ts'
import { zabraCommand } from '../src/commands.ts'
import { ManagedServer } from '../src/servers.ts'
import { textTable } from '../src/text-table.ts'
import { fileURLToPath } from 'node:url'

const nodes = 100_000
const nodeBytes = 200
const windowMs = 4000
const windows = 4

/** Measures latencies of other clients, alternately with continuous backups and without. */
export async function measureCost(dir: string): Promise<void> {
  const [adminPort] = await freePorts(1)
  const server = new ManagedServer(zabraCommand(), {
    cfg: `admin.serverPort=${adminPort}\nDigestAuthenticationProvider.superDigest=${superDigest}`,
  })
  await server.start()
  const client = await connect(`127.0.0.1:${server.port}`)
  try {
    await fill(client)
    const idle = new Latencies()
    const busy = new Latencies()
    let backups = 0
    for (let window = 0; window < windows; window++) {
      await idle.measure(client)
      const turn = { isOver: false }
      const taking = (async () => {
        while (!turn.isOver) {
          await backUp(join(dir, 'backups'), adminPort!, backups % 2 === 0)
          backups++
        }
      })()
      await busy.measure(client)
      turn.isOver = true
      await taking
    }
    console.log(
      `\n${nodes} nodes of ${nodeBytes} bytes; ${backups} backups, every other one full\n`,
    )
    console.log(
      textTable([
        ['', 'get p50', 'get p99', 'set p50', 'set p99', 'requests'],
        ['without', ...idle.row],
        ['with backups', ...busy.row],
      ]),
    )
  } finally {
    await client.close()
    await server.dispose()
  }
}

async function fill(client: Client): Promise<void> {
  const data = 'x'.repeat(nodeBytes)
  await client.create('/load')
  for (let at = 0; at < nodes; at += 1000) {
    const made = Array.from({ length: 1000 }, (_, i) => client.create(`/load/n${at + i}`, data))
    await Promise.all(made)
  }
}

async function backUp(directory: string, adminPort: number, isFull: boolean): Promise<void> {
  if (isFull) rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const zabra = fileURLToPath(new URL('../../bin/zabra', import.meta.url))
  const words = ['backup', '-o', directory, '--admin', `http://127.0.0.1:${adminPort}`]
  const auth = ['--auth', `digest:${superPassword}`]
  const { ok } = await runTool(process.execPath, [zabra, ...words, ...auth])
  if (!ok) throw new Error('a backup failed')
}

class Latencies {
  private readonly gets: number[] = []
  private readonly sets: number[] = []

  /** One request after another, reads and writes alternately. */
  async measure(client: Client): Promise<void> {
    const until = performance.now() + windowMs
    for (let i = 0; performance.now() < until; i++) {
      const path = `/load/n${(i * 7919) % nodes}`
      await timed(this.gets, () => client.get(path))
      await timed(this.sets, () => client.set(path, 'y'.repeat(nodeBytes)))
    }
  }

  get row(): string[] {
    const at = (list: readonly number[], part: number): string => {
      const sorted = list.toSorted((a, b) => a - b)
      return `${(sorted[Math.floor(sorted.length * part)] ?? 0).toFixed(2)} ms`
    }
    return [
      at(this.gets, 0.5),
      at(this.gets, 0.99),
      at(this.sets, 0.5),
      at(this.sets, 0.99),
      String(this.gets.length + this.sets.length),
    ]
  }
}

async function timed(into: number[], work: () => Promise<unknown>): Promise<void> {
  const started = performance.now()
  await work()
  into.push(performance.now() - started)
}
