import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '@zabra/client'
import { PastTree } from '@zabra/core'
import { stateAt } from '../../packages/cli/src/backup/state.ts'
import { differences, Ledger, textsOf } from '../../packages/cli/test/support/backup/ledger.ts'
import { Writer } from '../../packages/cli/test/support/backup/writer.ts'
import { zabraFor } from '../../packages/cli/test/support/zabra.ts'
import { Random } from '../../packages/server/test/support/random.ts'
import { findApache, type ApacheRelease } from '../src/apache.ts'
import { apacheCommand } from '../src/commands.ts'
import { ManagedServer } from '../src/servers.ts'

const roundMs = 3000
const pointsCompared = 40

/**
 * Backs up the files of an Apache server after each of its runs, the first of which ends with
 * SIGKILL, and starts Apache on the restored files.
 */
export async function backUpApache(
  dir: string,
  release: ApacheRelease,
  seed: number,
  say: (text: string) => void,
): Promise<string[]> {
  const apache = await findApache(release)
  if (!apache.ok) return [`not run: ${apache.reason}`]
  const problems: string[] = []
  const backups = join(dir, 'backups')
  const ledger = new Ledger()
  const random = new Random(seed)
  const server = new ManagedServer(apacheCommand(apache), {
    cfg: 'tickTime=1000\nsnapCount=200',
    properties: ['zookeeper.extendedTypesEnabled=true'],
  })
  const zabra = zabraFor('127.0.0.1:1')
  const run = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await zabra(...words)
    if (code !== 0) problems.push(`zabra ${words.join(' ')} ended with ${code}: ${stdout}${stderr}`)
    return stdout
  }
  try {
    for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
      await server.start()
      const client = await connect(`127.0.0.1:${server.port}`)
      const writer = new Writer(client, `/w${ledger.entries.length}`, random, ledger)
      const running = writer.run()
      await new Promise((resolve) => setTimeout(resolve, roundMs))
      writer.stop()
      await running
      await client.close()
      await server.stop(signal)
      await run('backup', '--output', backups, '--data-dir', join(server.dir, 'data'))
    }
    const verified = await run('backup', 'verify', backups, '--replay')
    say(`Apache ${apache.version}: ${verified.trim()}`)
    const first = JSON.parse(await run('backup', 'ls', backups, '--json')) as {
      backups: { kind: string }[]
      restorable: { from: { zxid: string } }[]
    }
    const kinds = first.backups.map(({ kind }) => kind).join(' ')
    if (kinds !== 'full log log') problems.push(`the backups are ${kinds}`)
    const from = BigInt(first.restorable[0]!.from.zxid)
    const known = ledger.entries.filter(({ zxid }) => zxid >= from)
    for (let i = 0; i < pointsCompared; i++) {
      const { zxid } = random.pick(known)
      const { db } = await stateAt(backups, { zxid }, { signal: new AbortController().signal })
      const found = textsOf(new PastTree(db, zxid), (path) => /^\/w\d+(\/|$)/.test(path))
      const wrong = differences(ledger.treeAt(zxid), found)
      if (wrong.length > 0) problems.push(`as of 0x${zxid.toString(16)}: ${wrong.join('; ')}`)
    }
    say(`${known.length} transactions, ${pointsCompared} states compared`)
    const { zxid } = known[Math.floor(known.length / 2)]!
    const restored = join(dir, 'restored')
    await run('restore', backups, '--to', `0x${zxid.toString(16)}`, '--data-dir', restored)
    const dataDir = join(server.dir, 'data')
    rmSync(dataDir, { recursive: true })
    cpSync(restored, dataDir, { recursive: true })
    await server.start()
    const client = await connect(`127.0.0.1:${server.port}`)
    const wanted = ledger.treeAt(zxid)
    let compared = 0
    for (const [path, node] of wanted) {
      const { data } = JSON.parse(node) as { data: string }
      const found = await client.find(path)
      compared++
      if (found === undefined || Buffer.from(found.data).toString() !== data)
        problems.push(`${path} is not what it was on Apache's server`)
    }
    await client.put('/after', '')
    await client.close()
    say(`Apache ${apache.version} serves what was restored: ${compared} nodes compared`)
  } catch (error) {
    problems.push(`${String(error)}\n${server.logTail()}`)
  } finally {
    await server.dispose()
  }
  return problems
}
