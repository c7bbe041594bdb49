import type { Summary } from '@zabra/core'

/** One measurement, independent of output format. */
export type Metric = Value | Measured

export interface Value {
  readonly kind: 'gauge' | 'counter'
  readonly name: string
  readonly help: string
  readonly value: number
  /** Written with a fraction even if it is whole: Java prints `0.0`. */
  readonly isFraction?: boolean
  /** The label, if several metrics have this name. */
  readonly key?: string
}

export interface Measured {
  readonly kind: 'summary'
  readonly name: string
  readonly help: string
  readonly summary: Summary
}

export function gauge(name: string, value: number, help: string): Value {
  return { kind: 'gauge', name, help, value }
}

export function counter(name: string, value: number, help: string): Value {
  return { kind: 'counter', name, help, value }
}

export function summary(name: string, measured: Summary, help: string): Measured {
  return { kind: 'summary', name, help, summary: measured }
}
