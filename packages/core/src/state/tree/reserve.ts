import type { TouchMemory } from '../../ports.ts'

/**
 * Allocates memory in pieces of one size, for structures that grow piece by piece. While one piece
 * fills up, the host touches the next one on another thread, if it can.
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
    // The piece is handed out only after that: bytes written during it might be overwritten with
    // zeros.
    this.touch(new Uint8Array(piece), () => {
      this.isTouching = false
      this.ready = piece
    })
  }
}
