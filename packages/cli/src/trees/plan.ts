import type { Invocation } from '../framework/invocation.ts'
import { cleanPath } from '../node/paths.ts'
import { compareTrees, type Difference } from './compare.ts'
import { readTreeFile } from './read-file.ts'
import { readTree } from './tree.ts'

/** The changes that make an ensemble match a file. */
export interface Plan {
  readonly top: string
  readonly differences: readonly Difference[]
  /** Nodes that the file does not have, and that would stay. */
  readonly kept: readonly Difference[]
}

/** `prune`: nodes that the file does not have would go. */
export async function makePlan(
  { io, out, signal, connect }: Pick<Invocation, 'io' | 'out' | 'signal' | 'connect'>,
  file: string,
  path: string | undefined,
  prune: boolean,
): Promise<Plan> {
  const { head, tree } = await readTreeFile(file, io)
  const top = cleanPath(path ?? head.top)
  const client = await connect()
  const progress = out.progress('reading')
  const found = await readTree(client, top, {
    signal,
    mayBeAbsent: true,
    onNode: () => progress.add(),
  })
  progress.end()
  const all = compareTrees(tree, found, { keepsUsed: prune })
  return {
    top,
    differences: all.filter(({ type }) => prune || type !== 'extra'),
    kept: prune ? [] : all.filter(({ type }) => type === 'extra'),
  }
}
