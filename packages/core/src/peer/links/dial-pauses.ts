const firstMs = [5, 10, 20, 40, 80]
const lastCount = 3
const lastMsDefault = 100

/**
 * How long a learner waits between its attempts to reach its leader: at first a moment, then as
 * long as is configured. It may know the outcome of an election before the leader does, and the
 * port opens only then: mostly a moment later, with an Apache leader after some 200 ms.
 */
export function dialPauses(lastMs = lastMsDefault): number[] {
  const first = firstMs.filter((ms) => ms < lastMs)
  return [...first, ...Array.from({ length: lastCount }, () => lastMs)]
}
