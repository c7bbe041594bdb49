/** Programs that follow a tree by watches of each kind: in the end they know its final state. */
import {
  ClosedError,
  ConnectionLossError,
  isRefusal,
  SessionExpiredError,
  TimeoutError,
  type Change,
  type Client,
} from '@zabra/client'
import { decodeText } from '@zabra/protocol'
import type { TreeDump } from '../../history/tree-dump.ts'
import type { Actor } from '../workload.ts'

/** The data of some nodes by path, as a program knows it. */
export interface Mirror {
  readonly name: string
  readonly nodes: ReadonlyMap<string, string>
  /** The nodes that it covers. */
  readonly isOf: (path: string) => boolean
}

/** The first difference between mirror and tree. */
export function difference({ name, nodes, isOf }: Mirror, tree: TreeDump): string | undefined {
  for (const [path, { data }] of tree) {
    if (isOf(path) && nodes.get(path) !== data)
      return `${name} takes ${path} for ${nodes.get(path)}, it is ${data}`
  }
  const gone = [...nodes.keys()].find((path) => !tree.has(path))
  return gone === undefined ? undefined : `${name} has not heard that ${gone} is gone`
}

/** Uses a persistent watch: reads each node that a notification names. */
export function mirrorByWatching(
  { client, name }: Actor,
  path: string,
  recursive: boolean,
  hear: (change: Change) => void = () => {},
): Mirror {
  const nodes = new Map<string, string>()
  const follow = async (): Promise<void> => {
    const changes = client.watch(path, { recursive, initial: true, renew: true })
    for await (const change of changes) {
      hear(change)
      // Notifications about children are ignored: they must not replace others.
      if (change.type !== 'children') await refresh(client, nodes, change.path)
    }
  }
  follow().catch(quietWhenClosed(client))
  const isOf = (candidate: string): boolean =>
    candidate === path || (recursive && candidate.startsWith(`${path}/`))
  return { name: `${name}, watching ${path},`, nodes, isOf }
}

/** Uses a persistent watch on the parent: does not list children if only the data changed. */
export function mirrorOfChildrenByWatching({ client, name }: Actor, path: string): Mirror {
  const nodes = new Map<string, string>()
  const follow = async (): Promise<void> => {
    const changes = client.watch(path, { initial: true, renew: true })
    for await (const { type } of changes) if (type !== 'changed') await list(client, nodes, path)
  }
  follow().catch(quietWhenClosed(client))
  const isOf = (candidate: string): boolean => candidate.startsWith(`${path}/`)
  return { name: `${name}, watching and listing ${path},`, nodes, isOf }
}

/** Uses one-shot watches, set again each time they fire. */
export function mirrorByOneShots({ client, name }: Actor, path: string): Mirror {
  const nodes = new Map<string, string>()
  const look = async (): Promise<void> => {
    for (;;) {
      try {
        let fired!: () => void
        const change = new Promise<void>((resolve) => (fired = resolve))
        const stat = await client.exists(path, { watch: fired })
        if (stat === undefined) nodes.delete(path)
        else await refresh(client, nodes, path)
        await change
      } catch (error) {
        if (!isPassing(error, client)) throw error
      }
    }
  }
  look().catch(quietWhenClosed(client))
  return { name: `${name}, with one-shots on ${path},`, nodes, isOf: (at) => at === path }
}

/** Uses one-shot watches on the children. */
export function mirrorOfChildren({ client, name }: Actor, path: string): Mirror {
  const nodes = new Map<string, string>()
  const look = async (): Promise<void> => {
    for (;;) {
      try {
        let fired!: () => void
        const change = new Promise<void>((resolve) => (fired = resolve))
        const stat = await client.exists(path)
        const children = stat === undefined ? [] : await client.children(path, { watch: fired })
        nodes.clear()
        for (const child of children) nodes.set(`${path}/${child}`, '')
        if (stat === undefined && (await client.exists(path, { watch: fired })) !== undefined)
          continue
        await change
      } catch (error) {
        if (!isRefusal(error, 'noNode') && !isPassing(error, client)) throw error
      }
    }
  }
  look().catch(quietWhenClosed(client))
  const isOf = (candidate: string): boolean => candidate.startsWith(`${path}/`)
  return { name: `${name}, listing ${path},`, nodes, isOf }
}

async function refresh(client: Client, nodes: Map<string, string>, path: string): Promise<void> {
  for (;;) {
    try {
      const { data } = await client.get(path)
      nodes.set(path, decodeText(data))
      return
    } catch (error) {
      if (isRefusal(error, 'noNode')) {
        nodes.delete(path)
        return
      }
      if (!isPassing(error, client)) throw error
    }
  }
}

async function list(client: Client, nodes: Map<string, string>, path: string): Promise<void> {
  for (;;) {
    try {
      const children = await client.children(path)
      nodes.clear()
      for (const child of children) nodes.set(`${path}/${child}`, '')
      return
    } catch (error) {
      if (isRefusal(error, 'noNode')) {
        nodes.clear()
        return
      }
      if (!isPassing(error, client)) throw error
    }
  }
}

function isPassing(error: unknown, client: Client): boolean {
  if (client.state.name === 'closed') return false
  return [ConnectionLossError, SessionExpiredError, TimeoutError].some(
    (kind) => error instanceof kind,
  )
}

function quietWhenClosed(client: Client): (error: unknown) => void {
  return (error) => {
    if (client.state.name !== 'closed' && !(error instanceof ClosedError)) throw error
  }
}
