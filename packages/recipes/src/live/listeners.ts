import type { Client } from '@zabra/client'

/** Who wants to hear of something. What one of them throws does not keep it from the others. */
export class Listeners<Args extends readonly unknown[]> {
  private readonly client: Client
  private readonly all = new Set<(...args: Args) => void>()

  constructor(client: Client) {
    this.client = client
  }

  /** Answers how to stop listening. */
  add(listener: (...args: Args) => void): () => void {
    // The same function may listen twice.
    const own = (...args: Args): void => listener(...args)
    this.all.add(own)
    return () => this.all.delete(own)
  }

  /** Whoever begins to listen meanwhile hears of the next thing, whoever stops of none. */
  call(...args: Args): void {
    const listeners = [...this.all]
    for (const listener of listeners) {
      if (!this.all.has(listener)) continue
      try {
        listener(...args)
      } catch (error) {
        // It is the program's own error, and the program must see it.
        this.client.host.defer(() => {
          throw error
        })
      }
    }
  }

  clear(): void {
    this.all.clear()
  }
}
