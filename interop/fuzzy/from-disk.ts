import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { loadSnapshot } from '@zabra/core'
import { MalformedError } from '@zabra/protocol'
import { startServer } from '@zabra/server'
import { NodeDisk } from '../../packages/server/src/disk/node-disk.ts'
import { differences, type Tree } from '../exchange/tree.ts'
import { blame } from '../src/blame.ts'
import { digestComplaints } from '../src/digests.ts'
import type { ServerCommand } from '../src/commands.ts'
import { ManagedServer } from '../src/servers.ts'
import { superUserCfg, wholeTree } from '../src/super-user.ts'
import { say } from '../src/tools.ts'
import { Churn, prepare } from './churn.ts'

export interface FromDisk {
  readonly snapshots: number
  /** How often zabra started and found Apache's tree. */
  readonly equal: number
  /** Snapshots that contain effects of transactions after their name. */
  readonly fuzzy: number
  readonly problems: readonly string[]
}

const loads = 12
const patienceMs = 300_000
/** Apache takes a snapshot every 400 to 800 transactions. */
const cfg = `
tickTime=2000
maxSessionTimeout=600000
maxClientCnxns=0
preAllocSize=64
snapCount=800
extendedTypesEnabled=true
autopurge.purgeInterval=0
4lw.commands.whitelist=*
${superUserCfg}
`

/** Makes Apache take snapshots under load, and starts zabra on each of them. */
export async function fromDisk(
  apache: ServerCommand,
  wanted: number,
  keeps: boolean,
): Promise<FromDisk> {
  const properties = ['znode.container.checkIntervalMs=3600000']
  const server = new ManagedServer(apache, { cfg, properties })
  try {
    await server.start()
    const files = join(server.dir, 'data', 'version-2')
    await prepare(server.port)
    await churnUntil(server.port, () => snapshotsIn(files).length > wanted)
    const expected = await wholeTree(server.port)
    await server.stop('SIGKILL')
    // The first was taken of an empty tree, and the last one may be incomplete.
    const chosen = snapshotsIn(files).slice(1, wanted + 1)
    return await startOnEach(files, chosen, expected, keeps)
  } finally {
    await server.dispose()
  }
}

function snapshotsIn(files: string): string[] {
  const zxid = (name: string): number => Number.parseInt(name.slice('snapshot.'.length), 16)
  const names = readdirSync(files).filter((name) => name.startsWith('snapshot.'))
  return names.toSorted((a, b) => zxid(a) - zxid(b))
}

async function churnUntil(port: number, holds: () => boolean): Promise<void> {
  const churns = Array.from({ length: loads }, (_, i) => new Churn(port, i + 1))
  const deadline = Date.now() + patienceMs
  while (!holds() && Date.now() < deadline) await delay(50)
  await Promise.all(churns.map((churn) => churn.stop()))
  // Waits for the snapshot in progress.
  await delay(500)
}

async function startOnEach(
  files: string,
  snapshots: readonly string[],
  expected: Tree,
  keeps: boolean,
): Promise<FromDisk> {
  const logs = readdirSync(files).filter((name) => name.startsWith('log.'))
  const problems: string[] = []
  let equal = 0
  let fuzzy = 0
  for (const snapshot of snapshots) {
    const folder = mkdtempSync(join(tmpdir(), 'zabra-fuzzy-'))
    const into = join(folder, 'version-2')
    mkdirSync(into)
    for (const name of [snapshot, ...logs]) copyFileSync(join(files, name), join(into, name))
    if (await isFuzzy(into, snapshot)) fuzzy++
    const complaints = await startOn(folder, expected)
    if (complaints.length === 0) equal++
    problems.push(...blame(snapshot, complaints))
    if (keeps && complaints.length > 0) problems.push(`the files are in ${folder}`)
    else rmSync(folder, { recursive: true, force: true })
    if ((equal + problems.length) % 20 === 0) say(`${equal} of ${snapshots.length} snapshots equal`)
  }
  return { snapshots: snapshots.length, equal, fuzzy, problems }
}

async function startOn(dataDir: string, expected: Tree): Promise<string[]> {
  const said: string[] = []
  const note = (line: string): void => void said.push(line)
  const [key = '', superDigest = ''] = superUserCfg.split(/=(.*)/s)
  try {
    const server = await startServer({
      config: {
        dataDir,
        extendedTypesEnabled: true,
        'znode.container.checkIntervalMs': 3_600_000,
        [key]: superDigest,
      },
      logger: { info: note, warn: note, error: note },
    })
    try {
      const found = await wholeTree(server.clientPort)
      return [...differences(expected, found), ...digestComplaints(said.join('\n'))]
    } finally {
      await server.stop()
    }
  } catch (error) {
    return [`zabra does not start: ${(error as Error).message}`]
  }
}

async function isFuzzy(directory: string, snapshot: string): Promise<boolean> {
  const zxid = BigInt(`0x${snapshot.slice('snapshot.'.length)}`)
  let isAhead = false
  await loadSnapshot(new NodeDisk(), directory, snapshot, {
    expect() {},
    session() {},
    acl() {},
    digest() {},
    node(reader) {
      const path = reader.ustring()
      if (path === '/') return false
      reader.buffer()
      reader.long()
      const czxid = reader.long()
      const mzxid = reader.long()
      // Skips times, versions, owner and the count of changes of children.
      for (const bytes of [16, 12, 16]) reader.position += bytes
      if (reader.position > reader.end) throw new MalformedError('the record ends too early')
      isAhead ||= czxid > zxid || mzxid > zxid
      return true
    },
  })
  return isAhead
}
