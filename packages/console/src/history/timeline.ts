/** The time that a slider covers. */

export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** The part of a span that a scale shows: around a time, and inside the span. */
export function zoomed(span: Span, lengthMs: number, atMs: number): Span {
  if (span.toMs - span.fromMs <= lengthMs) return span
  const toMs = Math.min(span.toMs, Math.max(span.fromMs + lengthMs, atMs + lengthMs / 2))
  return { fromMs: toMs - lengthMs, toMs }
}
