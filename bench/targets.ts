/** The ratio of zabra to Apache that is required. */
export interface Target {
  readonly bound: 'atLeast' | 'atMost'
  readonly ratio: number
}

export const atLeast = (ratio: number): Target => ({ bound: 'atLeast', ratio })
export const atMost = (ratio: number): Target => ({ bound: 'atMost', ratio })

/** A ratio that could not be measured (NaN) does not meet the target. */
export function isMet({ bound, ratio }: Target, measured: number): boolean {
  return bound === 'atLeast' ? measured >= ratio : measured <= ratio
}

export function describeTarget({ bound, ratio }: Target): string {
  return `${bound === 'atLeast' ? '>=' : '<='} ${ratio}`
}

/** Targets of figures that are not a scenario. */
export const peakRssTargets = { standalone: atMost(0.35), ensemble: atMost(0.4) } as const
export const filledRssTarget = atMost(0.5)
export const restartTarget = atMost(0.5)
export const startupTargets = { standalone: atMost(0.7), ensemble: atMost(0.3) } as const
export const failoverTarget = atMost(0.5)
