import { guarded } from './guarded.ts'
import type { Host } from './host.ts'

/**
 * Functions of the program that receive an event. An error in one does not keep the event from the
 * others.
 */
export class Listeners<Args extends readonly unknown[]> {
  private readonly host: Host
  private readonly all = new Set<(...args: Args) => void>()

  constructor(host: Host) {
    this.host = host
  }

  /** Returns a function that removes the listener. */
  add(listener: (...args: Args) => void): () => void {
    // The same function may be registered twice.
    const own = (...args: Args): void => listener(...args)
    this.all.add(own)
    return () => this.all.delete(own)
  }

  /**
   * A listener added during the call gets the next event; one removed during the call gets none.
   */
  call(...args: Args): void {
    const listeners = [...this.all]
    for (const listener of listeners)
      if (this.all.has(listener)) guarded(this.host, () => listener(...args))
  }

  clear(): void {
    this.all.clear()
  }
}
