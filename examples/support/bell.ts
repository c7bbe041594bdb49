/**
 * Rung any number of times, heard once: for a loop that looks at how things are whenever there may
 * be news, and sleeps otherwise.
 */
export class Bell {
  private hasRung = false
  private wake: (() => void) | undefined

  ring(): void {
    this.hasRung = true
    this.wake?.()
  }

  /** Resolves at the next ring, or at once if there was one since; answers false once aborted. */
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
      // Whoever ends the changes knows why; here it is only a reason to look.
    }
    this.ring()
  }
}
