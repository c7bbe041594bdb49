import type { Client } from '@zabra/client'
import { openClient } from '../connection/connect.ts'
import { defineCommand } from '../framework/command.ts'
import { cleanPath, joinPath } from '../node/paths.ts'
import { Quantiles } from '../output/quantiles.ts'

const workloads = ['create', 'set', 'get', 'mixed', 'delete'] as const
type Workload = (typeof workloads)[number]

const readShare = 0.9

export const command = defineCommand({
  options: {
    only: {
      type: 'text',
      choices: workloads,
      many: true,
      help: 'run only this workload; may be repeated',
    },
    clients: { type: 'integer', min: 1, short: 'c', help: 'connections (4)' },
    depth: {
      type: 'integer',
      min: 1,
      short: 'd',
      help: 'requests in flight on each connection (32)',
    },
    size: { type: 'size', help: 'bytes of data in a node (100)' },
    duration: { type: 'duration', help: 'how long each workload takes (3s)' },
    path: {
      type: 'text',
      kind: 'path',
      value: 'PATH',
      help: 'where to create the nodes (/zabra-bench)',
    },
    keep: { type: 'flag', help: 'keep the nodes' },
  },
  details: `Measures the throughput and latency of an ensemble from this machine, in one process. It creates nodes below a
separate node and removes them. \`mixed\` is 90 % get and 10 % set.`,
  examples: [
    ['zabra bench', 'all workloads, 3 s each'],
    ['zabra bench --only get --clients 8 --depth 64', 'reads only, with more load'],
    ['zabra bench --depth 1 --clients 1 --json', 'latency of one request at a time'],
  ],
  async run({ options, out, settings, signal }) {
    const { clients: count = 4, depth = 32, size = 100, duration = 3000 } = options
    const chosen: readonly Workload[] = options.only ?? workloads
    const root = cleanPath(options.path ?? '/zabra-bench')
    const data = new Uint8Array(size).fill(0x78)
    const connection = settings()
    const clients = await Promise.all(
      Array.from({ length: count }, () => openClient(connection, { signal })),
    )
    const [first] = clients as [Client]
    const top = joinPath(root, `${process.pid}-${Date.now().toString(36)}`)
    const results = []
    const isNew = (await first.exists(root)) === undefined
    try {
      await first.ensure(top)
      const loads = clients.map((client, index) => new Load(client, `${top}/${index}`, data, depth))
      await Promise.all(loads.map((load) => load.prepare()))
      for (const workload of chosen) {
        signal.throwIfAborted()
        const progress = out.progress(workload)
        const times = new Quantiles()
        const begun = performance.now()
        await Promise.all(
          loads.map((load) => load.run(workload, begun + duration, signal, times, progress)),
        )
        progress.end()
        const seconds = (performance.now() - begun) / 1000
        const perSecond = Math.round(times.count / seconds)
        results.push({ workload, requests: times.count, perSecond, ms: times.summary() })
      }
    } finally {
      if (options.keep !== true && first.state.name === 'connected') {
        await first
          .deleteTree(top)
          .catch((error: Error) => out.warn(`${top} remains: ${error.message}`))
        // It stays while another bench uses it.
        if (isNew) await first.delete(root).catch(() => {})
      }
      await Promise.all(clients.map((client) => client.close()))
    }
    if (out.json) return out.data({ clients: count, depth, size, results })
    out.table(
      ['WORKLOAD', 'REQUESTS', 'REQ/S', 'P50(ms)', 'P90(ms)', 'P99(ms)', 'MAX(ms)'],
      results.map(({ workload, requests, perSecond, ms }) => [
        workload,
        requests,
        perSecond,
        ms.p50,
        ms.p90,
        ms.p99,
        ms.max,
      ]),
    )
  },
})

/** The requests of one connection. */
class Load {
  private readonly client: Client
  private readonly path: string
  private readonly data: Uint8Array
  private readonly depth: number
  private readonly made: string[] = []
  private next = 0

  constructor(client: Client, path: string, data: Uint8Array, depth: number) {
    this.client = client
    this.path = path
    this.data = data
    this.depth = depth
  }

  async prepare(): Promise<void> {
    await this.client.ensure(this.path)
    await this.client.create(`${this.path}/node`, this.data)
  }

  /** Keeps `depth` requests in flight until the time is over. */
  async run(
    workload: Workload,
    endMs: number,
    signal: AbortSignal,
    times: Quantiles,
    progress: { add(): void },
  ): Promise<void> {
    const lane = async (): Promise<void> => {
      while (performance.now() < endMs && !signal.aborted) {
        const begun = performance.now()
        const request = this.request(workload)
        if (request === undefined) return
        await request
        times.add(performance.now() - begun)
        progress.add()
      }
    }
    await Promise.all(Array.from({ length: this.depth }, lane))
  }

  /** Undefined when there is nothing left to delete. */
  private request(workload: Workload): Promise<unknown> | undefined {
    const node = `${this.path}/node`
    switch (workload) {
      case 'get':
        return this.client.get(node)
      case 'set':
        return this.client.set(node, this.data)
      case 'mixed':
        return Math.random() < readShare ? this.client.get(node) : this.client.set(node, this.data)
      case 'create': {
        const path = `${this.path}/${this.next++}`
        return this.client.create(path, this.data).then(() => this.made.push(path))
      }
      case 'delete': {
        const path = this.made.pop()
        return path === undefined ? undefined : this.client.delete(path)
      }
    }
  }
}
