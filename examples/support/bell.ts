/**
 * A signal for a loop that checks the state of things after every change and sleeps otherwise. Any
 * number of rings before the next wait count as one.
 */
export class Bell {
  private hasRung = false
  private wake: (() => void) | undefined

  ring(): void {
    this.hasRung = true
    this.wake?.()
  }

  /**
   * Resolves at the next ring, or at once if there was one since the last call; false once aborted.
   */
  async heard(signal: AbortSignal): Promise<boolean> {
    if (!this.hasRung && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener('abort', wake)
          this.wake = undefined
          resolve()
        }
        this.wake = wake
        signal.addEventListener('abort', wake, { once: true })
      })
    }
    this.hasRung = false
    return !signal.aborted
  }

  /** Rings at each of the changes, and once more when they end. */
  async ringAt(changes: AsyncIterable<unknown>): Promise<void> {
    try {
      for await (const _ of changes) this.ring()
    } catch {
      // The reason for the end does not matter here.
    }
    this.ring()
  }
}
