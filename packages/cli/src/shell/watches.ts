import {
  isRefusal,
  OperationError,
  type Client,
  type OneShotWatch,
  type WatchEvent,
  type Watching,
} from '@zabra/client'

const eventNames: Readonly<Record<string, string>> = {
  created: 'NodeCreated',
  changed: 'NodeDataChanged',
  deleted: 'NodeDeleted',
  children: 'NodeChildrenChanged',
}

/** The watches that `removewatches` removes. */
export type WatchChoice = 'children' | 'data' | 'persistent' | 'recursive' | 'any'

/** A watch that a read is about to leave; `set` once the read was answered. */
export interface PendingWatch {
  readonly fire: OneShotWatch
  set(): void
}

interface Lasting {
  readonly watching: Watching
  readonly recursive: boolean
}

/** The watches of a session, and what they print. */
export class Watches {
  isPrinting = true
  private readonly client: () => Client
  private readonly print: (text: string) => void
  private readonly data = new Map<string, OneShotWatch>()
  private readonly children = new Map<string, OneShotWatch>()
  private readonly lasting = new Map<string, Lasting>()
  private lastEvent = ''

  constructor(client: () => Client, print: (text: string) => void) {
    this.client = client
    this.print = print
  }

  onData(path: string): PendingWatch {
    return this.oneShot(this.data, path)
  }

  onChildren(path: string): PendingWatch {
    return this.oneShot(this.children, path)
  }

  async addLasting(path: string, recursive: boolean): Promise<void> {
    const before = this.lasting.get(path)
    if (before?.recursive === recursive) return
    const watching = this.client().watch(path, { recursive, renew: true })
    await watching.ready
    this.lasting.set(path, { watching, recursive })
    void this.follow(watching)
    await before?.watching.return()
  }

  /** Refused with `noWatcher` where there is nothing of the kind. */
  async remove(path: string, choice: WatchChoice): Promise<void> {
    const removed: string[] = []
    const wants = (...choices: readonly WatchChoice[]): boolean =>
      choices.includes(choice) || choice === 'any'
    if (wants('children') && this.children.delete(path)) {
      removed.push('ChildWatchRemoved')
      await this.client().removeWatches(path, 'children')
    }
    if (wants('data') && this.data.delete(path)) {
      removed.push('DataWatchRemoved')
      await this.client().removeWatches(path, 'data')
    }
    const lasting = this.lasting.get(path)
    if (lasting !== undefined && wants(lasting.recursive ? 'recursive' : 'persistent')) {
      this.lasting.delete(path)
      removed.push('PersistentWatchRemoved')
      await lasting.watching.return()
    }
    if (removed.length === 0) throw new OperationError('noWatcher', { path })
    for (const name of removed) this.tell(name, path, undefined)
  }

  /** A change of the session itself. */
  tellState(name: string): void {
    this.show(`WatchedEvent state:${name} type:None path:null zxid: -1`)
  }

  /** The session is gone, and all of them with it. */
  forget(): void {
    this.data.clear()
    this.children.clear()
    this.lasting.clear()
  }

  private oneShot(table: Map<string, OneShotWatch>, path: string): PendingWatch {
    const fire =
      table.get(path) ??
      ((event: WatchEvent): void => {
        table.delete(path)
        this.tellEvent(event)
      })
    return { fire, set: () => void table.set(path, fire) }
  }

  private async follow(watching: Watching): Promise<void> {
    try {
      for await (const event of watching) this.tellEvent(event)
    } catch (error) {
      if (!isRefusal(error)) return
      this.show(`the watch of ${watching.path} has ended: ${error.message}`)
    }
  }

  private tellEvent({
    type,
    path,
    zxid,
  }: {
    type: string
    path: string
    zxid: bigint | undefined
  }): void {
    const name = eventNames[type]
    if (name !== undefined) this.tell(name, path, zxid)
  }

  /** An event of several watches of one node is printed once. */
  private tell(name: string, path: string, zxid: bigint | undefined): void {
    const text = `WatchedEvent state:SyncConnected type:${name} path:${path} zxid: ${zxid ?? -1n}`
    if (zxid !== undefined && text === this.lastEvent) return
    this.lastEvent = text
    this.show(text)
  }

  private show(text: string): void {
    if (this.isPrinting) this.print(`\nWATCHER::\n\n${text}\n`)
  }
}
