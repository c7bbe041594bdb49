import { noNode } from '@zabra/core'
import { isQueueItem } from '@zabra/protocol'
import { Slices } from '../base/slices.ts'
import type { ServerView } from '../view/server-view.ts'

const keptMsMax = 20_000
const largestMax = 50
const queuesMax = 500
const nodesAtOnce = 256

/** A znode that stands out. */
export interface Outstanding {
  readonly path: string
  readonly value: number
}

/** The result of a walk over all znodes. */
export interface Survey {
  readonly takenWallMs: number
  readonly znodes: number
  /** The znodes with the most data, the most children, and the most changes; largest first. */
  readonly data: readonly Outstanding[]
  readonly children: readonly Outstanding[]
  readonly versions: readonly Outstanding[]
  /** The parents of nodes that look like items of a queue. */
  readonly queues: readonly string[]
}

/** Walks over all znodes in slices, on demand, and caches the result for a while. */
export class Surveyor {
  private readonly view: ServerView
  private last: { readonly atMs: number; readonly survey: Promise<Survey> } | undefined

  constructor(view: ServerView) {
    this.view = view
  }

  survey(): Promise<Survey> {
    const nowMs = performance.now()
    if (this.last !== undefined && nowMs - this.last.atMs < keptMsMax) return this.last.survey
    const survey = this.look()
    this.last = { atMs: nowMs, survey }
    survey.catch(() => (this.last = undefined))
    return survey
  }

  private async look(): Promise<Survey> {
    const { tree } = this.view.peer.db
    const slices = new Slices()
    const [data, children, versions] = [new Largest(), new Largest(), new Largest()]
    const queues: string[] = []
    const cursor = tree.cursor()
    let znodes = 0
    const visit = (id: number): void => {
      znodes++
      const pathOf = (): string => tree.pathOf(id) || '/'
      data.add(tree.dataLength(id), pathOf)
      versions.add(tree.version(id), pathOf)
      const count = tree.childCount(id)
      if (count === 0) return
      children.add(count, pathOf)
      if (queues.length >= queuesMax) return
      const first = tree.firstChild(id)
      if (first !== noNode && isQueueItem(tree.nameOf(first))) queues.push(pathOf())
    }
    try {
      while (cursor.visitNodes(visit, nodesAtOnce)) await slices.pause()
    } finally {
      cursor.release()
    }
    return {
      takenWallMs: Date.now(),
      znodes,
      data: data.all,
      children: children.all,
      versions: versions.all,
      queues,
    }
  }
}

/** The largest of many values. */
class Largest {
  private readonly kept: Outstanding[] = []
  private least = 0

  add(value: number, pathOf: () => string): void {
    if (value <= this.least) return
    const { kept } = this
    let at = kept.length
    while (at > 0 && kept[at - 1]!.value < value) at--
    kept.splice(at, 0, { path: pathOf(), value })
    if (kept.length <= largestMax) return
    kept.pop()
    this.least = kept.at(-1)!.value
  }

  get all(): readonly Outstanding[] {
    return this.kept
  }
}

/** The ephemeral znodes by their parents: contenders for locks, and members of groups. */
export async function ephemeralsByParent({ peer }: ServerView): Promise<Map<string, string[]>> {
  const { tree } = peer.db
  const slices = new Slices()
  const found = new Map<string, string[]>()
  // The path of a parent is computed once for its children; not across a pause, because node
  // numbers are reused.
  let paths = new Map<number, string>()
  let count = 0
  for (const session of tree.sessionsWithEphemerals()) {
    for (const id of tree.ephemeralsOf(session)) {
      const parent = tree.parent(id)
      let path = paths.get(parent)
      if (path === undefined) paths.set(parent, (path = tree.pathOf(parent) || '/'))
      const names = found.get(path)
      if (names === undefined) found.set(path, [tree.nameOf(id)])
      else names.push(tree.nameOf(id))
      if (++count % nodesAtOnce !== 0) continue
      await slices.pause()
      paths = new Map()
    }
  }
  return found
}
