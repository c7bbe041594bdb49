import { guarded } from './guarded.ts'
import type { Host } from './host.ts'

/** Functions of the program that hear of an event. An error of one does not keep it from the others. */
export class Listeners<Args extends readonly unknown[]> {
  private readonly host: Host
  private readonly all = new Set<(...args: Args) => void>()

  constructor(host: Host) {
    this.host = host
  }

  /** Returns how to stop listening. */
  add(listener: (...args: Args) => void): () => void {
    // The same function may be registered twice.
    const own = (...args: Args): void => listener(...args)
    this.all.add(own)
    return () => this.all.delete(own)
  }

  /** A listener added during the call hears the next event; one removed during the call hears nothing. */
  call(...args: Args): void {
    const listeners = [...this.all]
    for (const listener of listeners)
      if (this.all.has(listener)) guarded(this.host, () => listener(...args))
  }

  clear(): void {
    this.all.clear()
  }
}
