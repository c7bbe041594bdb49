import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { UnpreparedClient } from '../../clients/client.ts'
import { runTool } from '../../src/tools.ts'
import { unpackDebian } from '../install/debian.ts'

export interface Postgres {
  readonly ok: true
  readonly bin: string
  readonly env: NodeJS.ProcessEnv
}

const relative = 'usr/lib/postgresql'

/** The installed PostgreSQL, or one unpacked from Debian's packages. */
export async function findPostgres(): Promise<Postgres | UnpreparedClient> {
  const here = newestIn('/')
  if (here !== undefined) return { ok: true, bin: here, env: process.env }
  const debian = await unpackDebian('postgresql', ['postgresql-15', 'postgresql-client-15'])
  if (!debian.ok) return debian
  const unpacked = newestIn(debian.root)
  if (unpacked === undefined) return { ok: false, reason: `no PostgreSQL below ${debian.root}` }
  return { ok: true, bin: unpacked, env: debian.env }
}

function newestIn(root: string): string | undefined {
  const folder = join(root, relative)
  if (!existsSync(folder)) return undefined
  const versions = readdirSync(folder).toSorted((a, b) => Number(b) - Number(a))
  return versions
    .map((version) => join(folder, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')))
}

/** The user that runs PostgreSQL, which refuses to run as root. */
export interface Account {
  readonly uid: number
  readonly gid: number
  /** A command prefix that runs a command as this user. */
  readonly prefix: readonly string[]
}

/** The user of this process or, if that is root, an unprivileged user. */
export async function lesserAccount(): Promise<Account> {
  const uid = process.getuid?.() ?? 0
  if (uid !== 0) return { uid, gid: process.getgid?.() ?? 0, prefix: [] }
  const name = (await numberOf('-u', 'postgres')) === undefined ? 'nobody' : 'postgres'
  const lesser = {
    uid: (await numberOf('-u', name)) ?? 65534,
    gid: (await numberOf('-g', name)) ?? 65534,
  }
  // It may read root's files, such as a workspace in root's home.
  const mayRead = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override']
  const become = [`--reuid=${lesser.uid}`, `--regid=${lesser.gid}`, '--clear-groups']
  return { ...lesser, prefix: ['setpriv', ...become, ...mayRead] }
}

async function numberOf(flag: string, name: string): Promise<number | undefined> {
  const { ok, output } = await runTool('id', [flag, name])
  return ok ? Number(output.trim()) : undefined
}
