import {
  acl as aclWords,
  isRefusal,
  noData,
  type Acl,
  type Client,
  type OperationError,
  type Transaction,
} from '@zabra/client'
import { CommandError } from '../framework/errors.ts'
import { exitCodes } from '../framework/exit-codes.ts'
import type { Difference } from './compare.ts'
import { counterOf, pathBelow, type TreeNode } from './tree.ts'

/** A step of a transaction, with its size on the wire. */
interface Step {
  readonly path: string
  readonly bytes: number
  add(transaction: Transaction<readonly unknown[]>): void
}

export interface ApplyOptions {
  readonly signal: AbortSignal
  /** Delete what is not wanted. */
  readonly prune: boolean
  readonly onDone?: (count: number) => void
}

export interface Applied {
  readonly created: number
  readonly changed: number
  readonly deleted: number
  readonly acls: number
  /** 1 means that all of it happened at once. */
  readonly transactions: number
}

/** Below what servers take by default, 1 MiB, with room for paths and ACLs. */
const transactionBytesMax = 700_000
const transactionStepsMax = 2000

/** Makes nodes of an ensemble what they should be, each only if nobody changed it since it was read. */
export async function applyDifferences(
  client: Client,
  top: string,
  differences: readonly Difference[],
  { signal, prune, onDone }: ApplyOptions,
): Promise<Applied> {
  const steps: Step[] = []
  const deletions: Step[] = []
  const acls: { path: string; acl: readonly Acl[]; aversion: number | undefined }[] = []
  let [created, changed, deleted] = [0, 0, 0]
  for (const difference of differences) {
    const path = pathBelow(top, difference.path)
    switch (difference.type) {
      case 'missing':
        steps.push(creation(path, difference.wanted))
        created++
        break
      case 'extra':
        if (!prune) break
        deletions.unshift(deletion(path, difference.found))
        deleted++
        break
      case 'different': {
        const { fields, wanted, found } = difference
        changed++
        if (fields.includes('kind') || fields.includes('ttl')) {
          refuseReplacement(path, found)
          steps.push(deletion(path, found), creation(path, { ...found, ...defined(wanted) }))
          break
        }
        if (fields.includes('data')) steps.push(change(path, wanted, found))
        if (fields.includes('acl')) acls.push({ path, acl: wanted.acl!, aversion: found.aversion })
      }
    }
  }
  const batches = batched([...steps, ...deletions])
  for (const batch of batches) {
    signal.throwIfAborted()
    await commit(client, batch)
    onDone?.(batch.length)
  }
  // Last, because an ACL may take from this connection what the other steps need.
  for (const { path, acl, aversion } of acls.toReversed()) {
    signal.throwIfAborted()
    await client.setAcl(path, acl, { ifVersion: aversion })
    onDone?.(1)
  }
  return { created, changed, deleted, acls: acls.length, transactions: batches.length }
}

function creation(path: string, { data, acl, kind, ttlMs }: TreeNode): Step {
  const bytes = path.length + (data?.length ?? 0) + 64
  const options = {
    acl: acl ?? aclWords.open,
    container: kind === 'container',
    ...(kind === 'ttl' && ttlMs !== undefined ? { ttlMs } : {}),
  }
  return {
    path,
    bytes,
    add: (transaction) => void transaction.create(path, data ?? noData, options),
  }
}

function change(path: string, { data }: TreeNode, { version }: TreeNode): Step {
  const bytes = path.length + data!.length + 32
  return {
    path,
    bytes,
    add: (transaction) => void transaction.set(path, data!, { ifVersion: version }),
  }
}

function deletion(path: string, { version }: TreeNode): Step {
  return {
    path,
    bytes: path.length + 16,
    add: (transaction) => void transaction.delete(path, { ifVersion: version }),
  }
}

/** A node keeps its kind for life; another one must take its place. */
function refuseReplacement(path: string, { numChildren = 0, kind }: TreeNode): void {
  if (numChildren === 0) return
  throw new CommandError(
    `${path} is ${kind ?? 'of another kind'} and has children, so it cannot be replaced by a node of another kind`,
    {
      code: 'kind',
      exitCode: exitCodes.conflict,
      hint: 'move its children away, or leave the kind as it is',
    },
  )
}

function defined(node: TreeNode): Partial<TreeNode> {
  return Object.fromEntries(Object.entries(node).filter(([, value]) => value !== undefined))
}

function batched(steps: readonly Step[]): Step[][] {
  const batches: Step[][] = []
  let batch: Step[] = []
  let bytes = 0
  for (const step of steps) {
    if (
      batch.length > 0 &&
      (bytes + step.bytes > transactionBytesMax || batch.length >= transactionStepsMax)
    ) {
      batches.push(batch)
      batch = []
      bytes = 0
    }
    batch.push(step)
    bytes += step.bytes
  }
  if (batch.length > 0) batches.push(batch)
  return batches
}

async function commit(client: Client, batch: readonly Step[]): Promise<void> {
  const transaction = client.transaction()
  for (const step of batch) step.add(transaction)
  try {
    await transaction.commit()
  } catch (error) {
    throw isRefusal(error) ? explained(error) : error
  }
}

const conflicts: ReadonlySet<string> = new Set(['badVersion', 'nodeExists', 'notEmpty', 'noNode'])

function explained(error: OperationError): CommandError {
  const { path, reason: code } = error
  if (conflicts.has(code))
    return new CommandError(`${path} was changed meanwhile (${code})`, {
      code,
      exitCode: exitCodes.conflict,
      hint: 'nothing of this transaction was done; try again',
      cause: error,
    })
  const isForbidden = code === 'noAuth'
  return new CommandError(isForbidden ? `not allowed: ${path}` : error.message, {
    code,
    exitCode: isForbidden ? exitCodes.notAllowed : exitCodes.failed,
    hint: isForbidden
      ? 'present an identity that may do this: --auth digest:USER:PASSWORD'
      : undefined,
    cause: error,
  })
}

/** How many children are made and deleted in one transaction. */
const countBatch = 500

/**
 * Lets nodes number their next sequential children as in the tree they come from, by making and
 * deleting children. A counter never goes back.
 */
export async function raiseCounters(
  client: Client,
  top: string,
  nodes: Iterable<TreeNode>,
  { signal, onDone }: { readonly signal: AbortSignal; readonly onDone?: (count: number) => void },
): Promise<void> {
  for (const { path, counter = 0, kind } of nodes) {
    if (counter === 0 || kind === 'ephemeral') continue
    const parent = pathBelow(top, path)
    const stat = await client.exists(parent)
    if (stat === undefined) continue
    const child = pathBelow(parent, '/zabra-counter')
    for (let left = counter - counterOf(stat); left > 0; left -= countBatch) {
      signal.throwIfAborted()
      const transaction = client.transaction()
      const count = Math.min(left, countBatch)
      for (let i = 0; i < count; i++) transaction.create(child).delete(child)
      await transaction.commit()
      onDone?.(count)
    }
  }
}
