import { existsSync } from 'node:fs'
import type { Client } from '@zabra/client'
import { openClient } from '../connection/connect.ts'
import { connectionSettings } from '../connection/settings.ts'
import type { Invocation } from '../framework/invocation.ts'
import { UsageError } from '../framework/errors.ts'
import { cleanPath } from '../node/paths.ts'
import { readTreeFile } from './read-file.ts'
import { readTree, type ReadTreeOptions, type Tree } from './tree.ts'

/**
 * Where a tree is: `/path` on the servers of the command, `CONTEXT:/path`, `zk://HOSTS/path`, or a
 * file (with a dot, or `file:NAME`; `-` is stdin).
 */
export type Location = LiveLocation | FileLocation

export interface LiveLocation {
  readonly type: 'live'
  readonly label: string
  readonly client: Client
  readonly top: string
  /** The client of the command itself. */
  readonly isOwn: boolean
  close(): Promise<void>
}

export interface FileLocation {
  readonly type: 'file'
  readonly label: string
  readonly file: string
  close(): Promise<void>
}

const done = async (): Promise<void> => {}

export async function openLocation(text: string, invocation: Invocation): Promise<Location> {
  const { connect, io, options, signal } = invocation
  if (text.startsWith('/')) {
    noteFile(text, invocation)
    return {
      type: 'live',
      label: text,
      client: await connect(),
      top: cleanPath(text),
      isOwn: true,
      close: done,
    }
  }
  const url = /^(zks?:\/\/[^/?]+)(\/[^?]*)?(\?.*)?$/.exec(text)
  const named = /^([\w.-]+):(\/.*)$/.exec(text)
  if (text.startsWith('file:') || text === '-' || (url === null && named === null)) {
    const file = text.replace(/^file:/, '')
    return { type: 'file', label: file, file, close: done }
  }
  const { context: _context, servers: _servers, ...rest } = options
  const settings =
    url === null
      ? connectionSettings({ ...rest, context: named![1]! }, io.env)
      : connectionSettings(
          { ...rest, servers: url[1]! + (url[3] === undefined ? '' : url[3]) },
          io.env,
        )
  const client = await openClient(settings, { signal })
  const top = cleanPath((url === null ? named![2] : url[2]) ?? '/')
  return {
    type: 'live',
    label: text.replace(/\/\/[^@/]*@/, '//'),
    client,
    top,
    isOwn: false,
    close: () => client.close(),
  }
}

/** `/tmp/app.yaml` names a node; people may mean the file. */
function noteFile(text: string, { out }: Invocation): void {
  if (/\.(?:ya?ml|jsonl?)$/.test(text) && existsSync(text))
    out.note(`${text} means a node; the file of this name is file:${text}`)
}

/** One that nodes can be written to. */
export async function openLiveLocation(
  text: string,
  invocation: Invocation,
): Promise<LiveLocation> {
  const location = await openLocation(text, invocation)
  if (location.type === 'live') return location
  throw new UsageError(
    `${text} is no node`,
    'a path starts with /, or is CONTEXT:/path or zk://HOSTS/path',
  )
}

/** All nodes of a location. */
export async function treeAt(
  location: Location,
  invocation: Invocation,
  options: Omit<ReadTreeOptions, 'signal'> = {},
): Promise<Tree> {
  if (location.type === 'file') return (await readTreeFile(location.file, invocation.io)).tree
  return readTree(location.client, location.top, { ...options, signal: invocation.signal })
}
