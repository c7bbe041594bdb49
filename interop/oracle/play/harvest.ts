import { superUser } from '../program/ingredients.ts'
import { openSession, plainOpening } from './handshake.ts'
import { send } from './send.ts'
import { emptySlot, quotaRoot, type Stage } from './stage.ts'
import { newResult, type Received, type StepResult, type Told } from './transcript.ts'

const nodesMax = 3000

/** The remaining tree as the super user sees it: data, ACLs and stats of every node. */
export interface Harvest {
  readonly result: StepResult
  /** Every path, parents before their children. */
  readonly paths: readonly string[]
  /** The slot of the super user. */
  readonly index: number
}

export async function harvest(stage: Stage): Promise<Harvest> {
  const index = stage.slots.length
  const result = newResult()
  const paths: string[] = []
  const tree: Told[] = []
  await openSession(stage, index, plainOpening, result)
  await send(stage, index, [{ op: 'auth', scheme: 'digest', auth: superUser }], result)
  const visit = async (path: string): Promise<void> => {
    if (paths.length > nodesMax) return
    paths.push(path)
    const seen = newResult()
    await send(
      stage,
      index,
      [
        { op: 'getData', path, watch: false },
        { op: 'getACL', path },
        { op: 'getChildren2', path, watch: false },
      ],
      seen,
    )
    const replies = seen.received[index] ?? []
    tree.push([stage.masks.path(path), ...replies.map(withoutXid)])
    for (const name of childrenIn(replies[2])) await visit(`${path}/${name}`)
  }
  await visit(stage.options.root)
  await visit(quotaRoot(stage.options.root))
  result.tree = tree
  return { result, paths, index }
}

/**
 * Closes every session of the play and deletes its nodes, so that the next play finds none. Records
 * the last reply, whose zxid shows how many transactions this took.
 */
export async function cleanUp(stage: Stage, { paths, index }: Harvest): Promise<Told> {
  const close = async (slot: number) => {
    const result = newResult()
    await send(stage, slot, [{ op: 'closeSession' }], result)
    return result.received[slot]?.[0]
  }
  for (let slot = 0; slot < index; slot++) await close(slot)
  const superSession = stage.slots[index]?.sessionId
  for (const [sessionId, password] of stage.openSessions) {
    if (sessionId === superSession) continue
    stage.slots[index + 1] = { ...emptySlot(), sessionId, password }
    await openSession(stage, index + 1, { ...plainOpening, how: 'same' }, newResult())
    await close(index + 1)
  }
  for (const path of paths.toReversed()) {
    await send(stage, index, [{ op: 'delete', path, version: -1 }], newResult())
  }
  const last = await close(index)
  return last === undefined ? null : withoutXid(last)
}

/** The xids only count the nodes before. */
function withoutXid(reply: Received): Received {
  return Object.fromEntries(Object.entries(reply).filter(([field]) => field !== 'xid'))
}

function childrenIn(reply: Received | undefined): string[] {
  const children = reply?.['children']
  if (!Array.isArray(children)) return []
  return children.filter((name: Told): name is string => typeof name === 'string').toSorted()
}
