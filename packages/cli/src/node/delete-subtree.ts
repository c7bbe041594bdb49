import { isRefusal, OperationError, type Client } from '@zabra/client'
import { parentOf } from './paths.ts'
import { walk } from './walk.ts'

/** How many batches are on their way at a time. */
const batchesMax = 8

export interface DeleteOptions {
  /** How many nodes go in one transaction. */
  readonly batch?: number
  readonly signal?: AbortSignal | undefined
  readonly onDeleted?: (count: number) => void
}

/**
 * Deletes a node and everything below it, children first, in transactions. What comes or goes
 * meanwhile does no harm: a transaction that fails is done node by node. Deletes nothing where a
 * node may not be listed. Answers how many of the nodes that it found are left.
 */
export async function deleteSubtree(
  client: Client,
  top: string,
  { batch = 500, signal, onDeleted }: DeleteOptions = {},
): Promise<number> {
  const levels: string[][] = []
  for await (const { path, depth, isHidden } of walk(client, top, { signal })) {
    // There may be nodes below that nobody could name.
    if (isHidden) throw new OperationError('noAuth', { path })
    ;(levels[depth] ??= []).push(path)
  }
  let left = 0
  const remove = async (paths: readonly string[]): Promise<void> => {
    left += await deleteBatch(client, paths)
    onDeleted?.(paths.length)
  }
  // Deepest first; a level begins when all below it is done.
  for (const level of levels.toReversed()) {
    for (let at = 0; at < level.length; at += batch * batchesMax) {
      signal?.throwIfAborted()
      const batches: Promise<void>[] = []
      for (let i = at; i < Math.min(level.length, at + batch * batchesMax); i += batch)
        batches.push(remove(level.slice(i, Math.min(i + batch, at + batch * batchesMax))))
      await Promise.all(batches)
    }
  }
  return left
}

async function deleteBatch(client: Client, paths: readonly string[]): Promise<number> {
  const transaction = client.transaction()
  for (const path of paths) transaction.delete(path)
  try {
    await transaction.commit()
    return 0
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  let left = 0
  for (const path of paths) {
    try {
      await client.delete(path)
    } catch (error) {
      if (isRefusal(error, 'noNode')) continue
      // Somebody made children meanwhile.
      if (isRefusal(error, 'notEmpty') && parentOf(path) !== path) {
        await client.deleteTree(path)
        continue
      }
      if (isRefusal(error, 'noAuth', 'badArguments')) throw error
      left++
    }
  }
  return left
}
