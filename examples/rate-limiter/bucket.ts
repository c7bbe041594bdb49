/** `perSecond` permits arrive each second, and at most `burst` accumulate. */
export interface Limit {
  readonly permitsPerSecond: number
  readonly burst: number
}

/**
 * A bucket of permits as one number: the time at which it would be full if no permits were taken.
 * That may be far in the future, because callers can also take future permits and wait for them.
 */
export interface Bucket {
  readonly fullAtMs: number
}

/** Takes permits, and returns how long to wait for them. */
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
