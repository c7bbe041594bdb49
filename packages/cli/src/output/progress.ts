import type { Io } from '../framework/io.ts'

const firstMs = 1000
const terminalMs = 100
/** A log wants to know that something is going on, not each step of it. */
const logMs = 10_000

/** Says on stderr how far something is, once it has taken a second. */
export class Progress {
  private readonly what: string
  private readonly stream: Io['stderr'] | undefined
  private readonly onEnd: () => void
  private readonly startedMs = performance.now()
  private timer: NodeJS.Timeout | undefined
  private count = 0
  private isShown = false
  total: number | undefined

  constructor(
    what: string,
    total: number | undefined,
    stream: Io['stderr'] | undefined,
    onEnd: () => void,
  ) {
    this.what = what
    this.total = total
    this.stream = stream
    this.onEnd = onEnd
    if (stream === undefined) return
    this.timer = setTimeout(() => this.show(), firstMs)
    this.timer.unref()
  }

  add(count = 1): void {
    this.count += count
  }

  end(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.hide()
    this.onEnd()
  }

  /** Makes room for a line of output. */
  hide(): void {
    if (!this.isShown) return
    this.isShown = false
    this.stream?.write('\r\u001b[K')
  }

  private show(): void {
    const { stream } = this
    if (stream === undefined) return
    if (stream.isTTY === true) {
      const width = (stream.columns ?? 80) - 1
      stream.write(`\r\u001b[K${this.text().slice(0, width)}`)
      this.isShown = true
    } else {
      stream.write(`${this.text()}\n`)
    }
    this.timer = setTimeout(() => this.show(), stream.isTTY === true ? terminalMs : logMs)
    this.timer.unref()
  }

  private text(): string {
    const { what, count, total, startedMs } = this
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    if (total !== undefined && total > 0) {
      const percent = Math.min(100, Math.floor((count / total) * 100))
      return `${what}: ${count} of ${total} (${percent} %), ${seconds} s`
    }
    return count === 0 ? `${what} ... ${seconds} s` : `${what}: ${count}, ${seconds} s`
  }
}
