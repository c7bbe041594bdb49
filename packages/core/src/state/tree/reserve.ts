import type { TouchMemory } from '../../ports.ts'

/**
 * Pieces of memory of one size, for what grows piece by piece: the next one is touched while the
 * last is being filled, where the host can do that elsewhere.
 */
export class Reserve {
  private readonly bytes: number
  private readonly touch: TouchMemory | undefined
  private ready: ArrayBuffer | undefined
  private isTouching = false

  constructor(bytes: number, touch: TouchMemory | undefined) {
    this.bytes = bytes
    this.touch = touch
  }

  take(): ArrayBuffer {
    const piece = this.ready ?? new ArrayBuffer(this.bytes)
    this.ready = undefined
    this.prepareNext()
    return piece
  }

  private prepareNext(): void {
    if (this.touch === undefined || this.isTouching) return
    const piece = new ArrayBuffer(this.bytes)
    this.isTouching = true
    // Nobody gets it before that is done: whatever is written meanwhile might be zeros afterwards.
    this.touch(new Uint8Array(piece), () => {
      this.isTouching = false
      this.ready = piece
    })
  }
}
