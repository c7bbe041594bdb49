import type { ServerCommand } from '../interop/src/commands.ts'
import { findApacheServer } from './apache.ts'
import type { Options } from './options.ts'
import { findZabra, findZabraIn } from './zabra.ts'

/** A kind of server to measure. */
export interface ServerKind {
  /** Its name in the tables. */
  readonly label: string
  readonly version: string
  readonly command: ServerCommand
  /** Lines added to its zoo.cfg. */
  readonly config: readonly string[]
  /** The live bytes after a full collection, if the runtime can tell. */
  liveHeapMb(pid: number): number | undefined
}

/** Finds servers by name; the same name twice measures how far equal servers differ. */
export async function findServers(options: Options): Promise<readonly ServerKind[]> {
  const kinds: ServerKind[] = []
  for (const name of options.servers) {
    const kind = await findServer(name, options)
    const twin = kinds.filter(({ label }) => label.replace(/#\d+$/, '') === name).length
    kinds.push(twin === 0 ? kind : { ...kind, label: `${name}#${twin + 1}` })
  }
  if (kinds.length === 0) throw new Error('no server to measure')
  return kinds
}

/** A server, or one with settings of its own: `zabra+history.enabled=false`. */
async function findServer(text: string, options: Options): Promise<ServerKind> {
  const [name = '', ...config] = text.split('+')
  const wrong = config.find((line) => !/^[\w.]+=/.test(line))
  if (wrong !== undefined) throw new Error(`a setting is KEY=VALUE, not '${wrong}'`)
  const kind = await findPlain(name, options)
  return config.length === 0 ? kind : { ...kind, label: text, config }
}

async function findPlain(name: string, { apache, jvm }: Options): Promise<ServerKind> {
  if (name === 'zabra') return findZabra()
  if (name === 'apache') return await findApacheServer(apache, jvm)
  if (name.includes('/')) return findZabraIn(name)
  throw new Error(`no such server: ${name} (there are apache, zabra, and folders of other clones)`)
}
