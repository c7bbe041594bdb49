import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ensureTool, runTool } from '../../interop/src/tools.ts'
import { freePorts } from '../../packages/server/test/support/free-ports.ts'

/** A running etcd in which `/config` is `found it`. */
export interface Etcd {
  readonly version: string
  /** Begins a command line of its client. */
  readonly command: readonly string[]
  stop(): void
}

const attemptsMax = 100

/** Undefined where etcd cannot be had. */
export async function startEtcd(): Promise<Etcd | undefined> {
  const isThere =
    (await ensureTool('etcd', ['etcd-server'])) && (await ensureTool('etcdctl', ['etcd-client']))
  if (!isThere) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'zabra-bench-etcd-'))
  const [client, peer] = (await freePorts(2)).map((port) => `http://127.0.0.1:${port}`)
  const options = {
    'data-dir': folder,
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
  }
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value!])
  const server = spawn('etcd', words, { stdio: 'ignore' })
  const ended = new Promise((resolve) => server.once('close', resolve))
  void ended.then(() => rmSync(folder, { recursive: true, force: true }))
  const command = ['etcdctl', '--endpoints', client!]
  const [program = '', ...args] = command
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const { ok } = await runTool(program, [...args, 'put', '/config', 'found it'])
    if (ok) {
      const { output } = await runTool(program, ['version'])
      const version = /version: (\S+)/.exec(output)?.[1] ?? '?'
      return { version, command, stop: () => server.kill() }
    }
    await delay(100)
  }
  server.kill()
  return undefined
}
