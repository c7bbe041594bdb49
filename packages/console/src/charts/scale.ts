/** Where the lines of a grid are. */

/** Round numbers from zero to at least the highest value, at most `countMax` besides zero. */
export function valueTicks(highest: number, countMax = 4): readonly number[] {
  if (highest <= 0) return [0, 1]
  const rough = highest / countMax
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough)!
  const count = Math.max(1, Math.ceil(highest / step - 1e-9))
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)))
}

/** The same in the units of bytes. */
export function byteTicks(highest: number): readonly number[] {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(1, highest)) / Math.log(1024)))
  return valueTicks(highest / unit).map((tick) => tick * unit)
}

const minuteMs = 60_000
const steps = [
  1 / 60,
  1 / 12,
  1 / 4,
  1 / 2,
  1,
  2,
  5,
  10,
  15,
  30,
  60,
  120,
  360,
  720,
  1440,
  2880,
].map((minutes) => minutes * minuteMs)

/** Round times between two, at most `countMax`. */
export function timeTicks(fromMs: number, toMs: number, countMax: number): readonly number[] {
  const rough = (toMs - fromMs) / Math.max(1, countMax)
  const step = steps.find((each) => each >= rough) ?? Math.ceil(rough / 86_400_000) * 86_400_000
  const made: number[] = []
  for (let at = Math.ceil(fromMs / step) * step; at <= toMs; at += step) made.push(at)
  return made
}

/** A time of day, with seconds where the ticks are closer than a minute, and a date where days apart. */
export function tickText(timeMs: number, spanMs: number): string {
  const iso = new Date(timeMs).toISOString()
  if (spanMs > 2 * 86_400_000) return iso.slice(5, 16).replace('T', ' ')
  return spanMs < 4 * minuteMs ? iso.slice(11, 19) : iso.slice(11, 16)
}
