/** The clients to measure, and how each is installed. */
import { existsSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { curatorJars, version as curatorVersion } from '../../interop/clients/curator/prepare.ts'
import { compile } from '../../interop/clients/java/prepare.ts'
import { kazooVersion, pythonWithKazoo } from '../../interop/clients/kazoo/prepare.ts'
import {
  npmClientVersions,
  npmModules,
  type NpmClientName,
} from '../../interop/clients/node/prepare.ts'
import { findApache } from '../../interop/src/apache.ts'

export interface Contestant {
  readonly ok: true
  readonly name: string
  readonly version: string
  /** A player, see `players/play.mjs`; takes an address and a path as arguments. */
  readonly command: readonly string[]
}

export interface Missing {
  readonly ok: false
  readonly name: string
  readonly reason: string
}

const players = join(import.meta.dirname, 'players')

/** Ours comes first; `socket` is not a client, and has no watches. */
export const contestantNames = [
  'zabra',
  'node-zookeeper-client',
  'zookeeper',
  'java',
  'curator',
  'kazoo',
  'socket',
] as const
/** One of these, or the folder of another clone, which contains a slash. */
export type ContestantName = (typeof contestantNames)[number] | `${string}/${string}`

/** The clients that a Node program could use instead of ours. */
export const npmNames: readonly ContestantName[] = ['node-zookeeper-client', 'zookeeper']

export function prepareContestant(name: ContestantName): Promise<Contestant | Missing> {
  if (isClone(name)) return Promise.resolve(oursIn(name))
  if (name === 'zabra') return Promise.resolve(ours())
  if (name === 'socket') return Promise.resolve(bareSocket())
  if (name === 'java') return fromJava()
  if (name === 'curator') return fromCurator()
  if (name === 'kazoo') return fromPython()
  return fromNpm(name)
}

const node = [process.execPath, '--expose-gc']

const workspace = join(import.meta.dirname, '..', '..')

export function isClone(name: string): name is `${string}/${string}` {
  return name.includes('/')
}

/** The client as published: compiled, not from the sources. */
function ours(): Contestant {
  return clientIn(workspace, 'zabra')
}

/** The client of another clone, for example of an earlier commit; it must be built. */
function oursIn(folder: string): Contestant | Missing {
  const clone = resolve(folder)
  const name = basename(clone)
  if (!existsSync(join(clone, 'packages', 'client', 'dist', 'index.js')))
    return { ok: false, name, reason: `no built clone of zabra: ${clone}` }
  return clientIn(clone, name)
}

function clientIn(clone: string, name: string): Contestant {
  const manifest = join(clone, 'packages', 'client', 'package.json')
  const version = /"version": "([^"]+)"/.exec(readFileSync(manifest, 'utf8'))?.[1] ?? ''
  const player = join(clone, 'bench', 'clients', 'players', 'zabra.mjs')
  return { ok: true, name, version, command: [...node, player] }
}

/** About the cost of a round trip without any client. */
function bareSocket(): Contestant {
  const command = [...node, join(players, 'socket.mjs')]
  return { ok: true, name: 'socket', version: 'no client, its replies are only counted', command }
}

async function fromNpm(name: NpmClientName): Promise<Contestant | Missing> {
  const found = await npmModules(name)
  if (!found.ok) return { ok: false, name, reason: found.reason }
  const command = [...node, join(players, `${name}.mjs`), found.home]
  return { ok: true, name, version: npmClientVersions[name], command }
}

async function fromJava(): Promise<Contestant | Missing> {
  const name = 'java'
  const apache = await findApache('3.9')
  if (!apache.ok) return { ok: false, name, reason: apache.reason }
  return javaPlayer(name, apache.version, 'ZooKeeperPlayer', apache.classPath)
}

async function fromCurator(): Promise<Contestant | Missing> {
  const name = 'curator'
  const found = await curatorJars()
  if (!found.ok) return { ok: false, name, reason: found.reason }
  return javaPlayer(name, curatorVersion, 'CuratorPlayer', found.classPath)
}

async function javaPlayer(
  name: string,
  version: string,
  main: string,
  classPath: string,
): Promise<Contestant | Missing> {
  const classes = await compile(`bench-${name}`, ['Player', main], classPath, players)
  if (!classes.ok) return { ok: false, name, reason: `javac failed: ${classes.output}` }
  const quiet = '-Dorg.slf4j.simpleLogger.defaultLogLevel=off'
  const command = ['java', '-Xmx512m', quiet, '-cp', `${classes.dir}:${classPath}`, main]
  return { ok: true, name, version, command }
}

async function fromPython(): Promise<Contestant | Missing> {
  const name = 'kazoo'
  const python = await pythonWithKazoo()
  if (!python.ok) return { ok: false, name, reason: python.reason }
  const command = [python.program, join(players, 'player.py')]
  return { ok: true, name, version: kazooVersion, command }
}
