import type { Summary } from '@zabra/core'

/** One thing that is measured, before it is written for anybody. */
export type Metric = Value | Measured

export interface Value {
  readonly kind: 'gauge' | 'counter'
  readonly name: string
  readonly help: string
  readonly value: number
  /** It is a fraction even when it happens to be whole: Java would print `0.0`. */
  readonly isFraction?: boolean
  /** What it is about, where there are several of its name. */
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
