/** So many permits come in each second, and at most `burst` lie ready. */
export interface Limit {
  readonly permitsPerSecond: number
  readonly burst: number
}

/**
 * A bucket of permits in one number: when it would be full if nobody took any more. That may be
 * far ahead: permits that are still to come can be taken too, by who waits for them.
 */
export interface Bucket {
  readonly fullAtMs: number
}

/** Takes permits, and says how long to wait until they are there. */
export function takeFrom(
  bucket: Bucket,
  permits: number,
  nowMs: number,
  { permitsPerSecond, burst }: Limit,
): { readonly bucket: Bucket; readonly waitMs: number } {
  const msPerPermit = 1000 / permitsPerSecond
  const fullAtMs = Math.max(bucket.fullAtMs, nowMs) + permits * msPerPermit
  const waitMs = Math.max(0, fullAtMs - burst * msPerPermit - nowMs)
  return { bucket: { fullAtMs }, waitMs }
}
