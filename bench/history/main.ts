/**
 * What history costs on disk: the bytes that a million writes leave, with history and without, as
 * logs and snapshots that recovery needs, as files kept for history alone, and as indexes.
 *
 *     npm run bench:history -- [--writes 1000000] [--znodes 10000] [--size 100]
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { zabraCommand } from '../../interop/src/commands.ts'
import { ManagedServer } from '../../interop/src/servers.ts'
import { textTable } from '../../interop/src/text-table.ts'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'
import { RawClient } from '../../packages/server/test/support/raw-client.ts'

const { values } = parseArgs({
  options: {
    writes: { type: 'string', default: '1000000' },
    znodes: { type: 'string', default: '10000' },
    size: { type: 'string', default: '100' },
  },
})
const writes = Number(values.writes)
const znodes = Number(values.znodes)
const size = Number(values.size)
const atOnce = 1000

const rows: string[][] = []
for (const isOn of [true, false]) rows.push(await measure(isOn))
console.log(`${writes} writes of ${size} bytes to ${znodes} znodes; MiB for a million writes\n`)
console.log(
  textTable([['', 'For recovery', 'For history', 'Indexes', 'In all', 'Writes/s'], ...rows]),
)

async function measure(isOn: boolean): Promise<string[]> {
  const [adminPort = 0] = await freePorts(1)
  const server = new ManagedServer(zabraCommand(), {
    cfg: [
      'forceSync=no',
      `history.enabled=${isOn}`,
      `admin.serverPort=${adminPort}`,
      // The default is an hour; files move after each snapshot, too.
      'autopurge.purgeInterval=1',
      'autopurge.snapRetainCount=3',
      'maxClientCnxns=0',
    ].join('\n'),
  })
  await server.start()
  try {
    const client = await RawClient.connect(server.port, { timeoutMs: 60_000 })
    const data = Buffer.alloc(size, 'x')
    await inBatches(znodes, (at) => client.create(`/znode-${at}`, data))
    const startMs = performance.now()
    await inBatches(writes, (at) =>
      client.must('setData', { path: `/znode-${at % znodes}`, data, version: -1 }),
    )
    const perSecond = Math.round((writes * 1000) / (performance.now() - startMs))
    await client.close()
    // The first question makes the indexes of all logs that are complete.
    await fetch(`http://127.0.0.1:${adminPort}/api/v1/history/changes?path=/znode-0&limit=1000`)
    await server.stop('SIGTERM')
    const found = sizesOf(server.dir)
    const perMillion = (bytes: number): string => ((bytes / writes) * (1e6 / 2 ** 20)).toFixed(0)
    return [
      isOn ? 'history on' : 'history off',
      perMillion(found.recovery),
      perMillion(found.history),
      perMillion(found.indexes),
      perMillion(found.recovery + found.history + found.indexes),
      String(perSecond),
    ]
  } finally {
    await server.dispose()
  }
}

async function inBatches(count: number, work: (at: number) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < count; at += atOnce) {
    const length = Math.min(atOnce, count - at)
    await Promise.all(Array.from({ length }, (_, more) => work(at + more)))
  }
}

/** Logs are allocated ahead of what is written, so what counts is what is on the disk. */
function sizesOf(folder: string): { recovery: number; history: number; indexes: number } {
  const sizes = { recovery: 0, history: 0, indexes: 0 }
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/^(log|snapshot|index)\./.test(entry.name)) continue
    const bytes = statSync(join(entry.parentPath, entry.name)).blocks * 512
    const isPast = entry.parentPath.endsWith('/history')
    const kind = entry.name.startsWith('index.') ? 'indexes' : isPast ? 'history' : 'recovery'
    sizes[kind] += bytes
  }
  return sizes
}
