/** The times of changes, counted for a chart. */

export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

export function countsIn(times: readonly number[], { fromMs, toMs }: Span, bins: number): number[] {
  const counts = Array.from({ length: bins }, () => 0)
  const width = Math.max(1, toMs - fromMs) / bins
  for (const time of times) {
    if (time < fromMs || time > toMs) continue
    const bin = Math.min(bins - 1, Math.floor((time - fromMs) / width))
    counts[bin] = counts[bin]! + 1
  }
  return counts
}

/** The part of a span that a scale shows: around a time, and inside the span. */
export function zoomed(span: Span, lengthMs: number, atMs: number): Span {
  if (span.toMs - span.fromMs <= lengthMs) return span
  const toMs = Math.min(span.toMs, Math.max(span.fromMs + lengthMs, atMs + lengthMs / 2))
  return { fromMs: toMs - lengthMs, toMs }
}
