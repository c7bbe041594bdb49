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
const dayMs = 86_400_000
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

export interface TimeTick {
  readonly time: number
  /** A time of day, with seconds where they differ, or a date where days do. */
  readonly text: string
}

/** Round times between two, at most `countMax`. */
export function timeTicks(fromMs: number, toMs: number, countMax: number): readonly TimeTick[] {
  const rough = (toMs - fromMs) / Math.max(1, countMax)
  const step = steps.find((each) => each >= rough) ?? Math.ceil(rough / dayMs) * dayMs
  const made: TimeTick[] = []
  for (let time = Math.ceil(fromMs / step) * step; time <= toMs; time += step) {
    const iso = new Date(time).toISOString()
    const text =
      toMs - fromMs > 2 * dayMs
        ? iso.slice(5, 16).replace('T', ' ')
        : iso.slice(11, step < minuteMs ? 19 : 16)
    made.push({ time, text })
  }
  return made
}
