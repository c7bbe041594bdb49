import { addWatchModes, errorCodes, eventTypes, watcherTypes } from '@zabra/protocol'
import type { Request, RestoredWatches, Result } from './request.ts'

/** The watches that a client believes to have, and sets again after a reconnect. */
export class KnownWatches {
  private readonly data = new Set<string>()
  private readonly exist = new Set<string>()
  private readonly child = new Set<string>()
  private readonly persistent = new Set<string>()
  private readonly recursive = new Set<string>()

  clear(): void {
    for (const set of [this.data, this.exist, this.child, this.persistent, this.recursive]) {
      set.clear()
    }
  }

  answered(request: Request, { err }: Result): void {
    switch (request.op) {
      case 'exists':
        if (!request.watch) return
        if (err === 0) this.data.add(request.path)
        else if (err === errorCodes.noNode) this.exist.add(request.path)
        return
      case 'getData':
        if (request.watch && err === 0) this.data.add(request.path)
        return
      case 'getChildren':
      case 'getChildren2':
        if (request.watch && err === 0) this.child.add(request.path)
        return
      case 'addWatch':
        if (request.mode === addWatchModes.persistent) this.persistent.add(request.path)
        else this.recursive.add(request.path)
        return
      case 'removeWatches':
        if (err === 0) this.removed(request.path, request.type)
        return
      default:
    }
  }

  private removed(path: string, type: number): void {
    const { children, data, any, persistent, persistentRecursive } = watcherTypes
    if (type === children || type === any) this.child.delete(path)
    if (type === data || type === any) {
      this.data.delete(path)
      this.exist.delete(path)
    }
    if (type === persistent || type === any) this.persistent.delete(path)
    if (type === persistentRecursive || type === any) this.recursive.delete(path)
  }

  fired(type: number, path: string): void {
    const { nodeCreated, nodeDeleted, nodeDataChanged, nodeChildrenChanged } = eventTypes
    if (type === nodeCreated || type === nodeDeleted || type === nodeDataChanged) {
      this.data.delete(path)
      this.exist.delete(path)
    }
    if (type === nodeDeleted || type === nodeChildrenChanged) this.child.delete(path)
  }

  toRestore(since: bigint): RestoredWatches | undefined {
    const { data, exist, child, persistent, recursive } = this
    if (data.size + exist.size + child.size + persistent.size + recursive.size === 0)
      return undefined
    return {
      since,
      data: [...data],
      exist: [...exist],
      child: [...child],
      persistent: [...persistent],
      recursive: [...recursive],
    }
  }
}
