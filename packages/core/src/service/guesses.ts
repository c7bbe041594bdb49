import { parseAddress } from '../state/acl/ip.ts'

export interface GuessOptions {
  /** Wrong passwords that an address may send at once. */
  readonly burst: number
  /** After that, one attempt in this time. */
  readonly intervalMs: number
  /** An attempt that would have to wait longer than this is refused. */
  readonly waitMsMax: number
}

const defaultGuesses: GuessOptions = { burst: 10, intervalMs: 1000, waitMsMax: 10_000 }

const addressesMax = 10_000
const networkBytesV6 = 8

/**
 * Slows down who guesses passwords, by address. An attempt waits for its turn instead of being
 * refused, so that an administrator at the same address still gets in.
 */
export class Guesses {
  /** Wrong passwords so far. */
  failures = 0
  private readonly options: GuessOptions
  /** Until when the attempts of an address have used up what it may have. */
  private readonly usedUntilMs = new Map<string, number>()

  constructor(options: GuessOptions = defaultGuesses) {
    this.options = options
  }

  /** How long an attempt has to wait before it is looked at; undefined where it is refused. */
  waitMs(address: string, nowMs: number): number | undefined {
    const { burst, intervalMs, waitMsMax } = this.options
    const network = networkOf(address)
    const used = (this.usedUntilMs.get(network) ?? 0) - nowMs
    const waitMs = used - burst * intervalMs
    if (waitMs <= 0) return 0
    if (waitMs > waitMsMax) return undefined
    // Its turn is taken, whatever comes of it: those behind it wait longer.
    this.usedUntilMs.set(network, nowMs + used + intervalMs)
    return waitMs
  }

  /** An attempt that was looked at was wrong; one that has waited has been counted already. */
  failed(address: string, nowMs: number, hasWaited = false): void {
    this.failures++
    if (hasWaited) return
    const network = networkOf(address)
    const used = Math.max(nowMs, this.usedUntilMs.get(network) ?? 0)
    this.usedUntilMs.delete(network)
    if (this.usedUntilMs.size >= addressesMax) this.forgetOldest()
    this.usedUntilMs.set(network, used + this.options.intervalMs)
  }

  private forgetOldest(): void {
    const [oldest] = this.usedUntilMs.keys()
    this.usedUntilMs.delete(oldest!)
  }
}

/** A host with one IPv6 address usually has all addresses with the same first half. */
function networkOf(address: string): string {
  const bytes = address.includes(':') ? parseAddress(address) : undefined
  return bytes === undefined ? address : bytes.slice(0, networkBytesV6).join('.')
}
