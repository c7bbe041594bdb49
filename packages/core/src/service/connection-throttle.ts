export interface ConnectionThrottleOptions {
  /** How many may come at once. */
  readonly tokens: number
  readonly fillMs: number
  readonly fillCount: number
  /** How often the probability of a drop is looked at; -1: there are no drops by chance. */
  readonly freezeMs: number
  readonly dropIncrease: number
  readonly dropDecrease: number
  /** The part of the bucket that may be missing for the probability to fall. */
  readonly decreaseRatio: number
  /** The tokens that each kind of session costs; one each by default. */
  readonly weights?: SessionWeights | undefined
  readonly random: () => number
}

export interface SessionWeights {
  readonly global: number
  readonly renewed: number
  readonly local: number
}

/**
 * Lets new connections in no faster than a bucket of tokens is filled. While it is found empty
 * again and again, more and more of them are turned away by chance, before they cost any work.
 */
export class ConnectionThrottle {
  /** The probability with which a connection is turned away. */
  dropProbability = 0
  private readonly options: ConnectionThrottleOptions
  private readonly tokensMax: number
  private readonly fillCount: number
  private tokens: number
  private filledMs: number
  private lookedMs: number

  constructor(options: ConnectionThrottleOptions, nowMs: number) {
    const { tokens, fillCount, weights } = options
    this.options = options
    // With weights, a bucket is as good for sessions of the most expensive kind as one without.
    this.tokensMax = this.tokens = tokens * (weights?.global ?? 1)
    this.fillCount = fillCount * (weights?.global ?? 1)
    this.filledMs = this.lookedMs = nowMs
  }

  /** Tokens that are missing. */
  get deficit(): number {
    return this.tokensMax - this.tokens
  }

  admits(kind: keyof SessionWeights, nowMs: number): boolean {
    const need = this.options.weights?.[kind] ?? 1
    this.fill(nowMs)
    if (this.isDropped(nowMs) || this.tokens < need) return false
    this.tokens -= need
    return true
  }

  private fill(nowMs: number): void {
    const sinceMs = nowMs - this.filledMs
    if (sinceMs <= this.options.fillMs) return
    const refill = Math.floor((sinceMs * this.fillCount) / this.options.fillMs)
    this.tokens = Math.min(this.tokens + refill, this.tokensMax)
    this.filledMs = nowMs
  }

  private isDropped(nowMs: number): boolean {
    const { freezeMs, dropIncrease, dropDecrease, decreaseRatio, random } = this.options
    if (freezeMs === -1) return false
    if (nowMs - this.lookedMs > freezeMs) {
      if (this.tokens === 0) {
        this.dropProbability = Math.min(this.dropProbability + dropIncrease, 1)
      } else if (this.deficit <= Math.round(this.tokensMax * decreaseRatio)) {
        this.dropProbability = Math.max(this.dropProbability - dropDecrease, 0)
      }
      this.lookedMs = nowMs
    }
    return random() < this.dropProbability
  }
}
