/** The layout of a graph of waits: a waiting session is left of the one it waits for. */
import type { Wait } from './lines.ts'

export interface Place {
  readonly session: string
  readonly column: number
  readonly row: number
  readonly isInCircle: boolean
}
export interface Arrow {
  readonly from: Place
  readonly to: Place
  /** The paths it waits for. */
  readonly paths: readonly string[]
  readonly isInCircle: boolean
}
export interface Layout {
  readonly places: readonly Place[]
  readonly arrows: readonly Arrow[]
  readonly columns: number
  readonly rows: number
}

/** Sessions of a circle share a column, those that wait for them are in the columns before. */
export function layoutOf(waits: readonly Wait[], deadlocks: readonly (readonly Wait[])[]): Layout {
  const sessions = [...new Set(waits.flatMap(({ waiter, holder }) => [waiter, holder]))]
  const circleOf = new Map<string, string>()
  for (const [at, circle] of deadlocks.entries()) {
    for (const { waiter } of circle) circleOf.set(waiter, `circle ${at}`)
  }
  /** A circle counts as one. */
  const unitOf = (session: string): string => circleOf.get(session) ?? session
  const ahead = new Map<string, Set<string>>()
  for (const { waiter, holder } of waits) {
    const [from, to] = [unitOf(waiter), unitOf(holder)]
    if (from !== to) ahead.set(from, (ahead.get(from) ?? new Set()).add(to))
  }
  const depths = new Map<string, number>()
  const depthOf = (unit: string): number => {
    const known = depths.get(unit)
    if (known !== undefined) return known
    // Two circles may share a session that only one of them names: it must end all the same.
    depths.set(unit, 0)
    const depth = Math.max(0, ...[...(ahead.get(unit) ?? [])].map((each) => depthOf(each) + 1))
    depths.set(unit, depth)
    return depth
  }
  const deepest = Math.max(0, ...sessions.map((each) => depthOf(unitOf(each))))
  const rows: number[] = []
  const places = new Map<string, Place>()
  // In the order of the circle, so that its arrows go from one to the next.
  const ordered = [
    ...deadlocks.flatMap((circle) => circle.map(({ waiter }) => waiter)),
    ...sessions,
  ].filter((session, at, all) => all.indexOf(session) === at)
  const holdersOf = (session: string): readonly string[] =>
    waits.filter(({ waiter }) => waiter === session).map(({ holder }) => holder)
  const meanRow = (session: string): number => {
    const found = holdersOf(session).flatMap((holder) => places.get(holder)?.row ?? [])
    return found.reduce((sum, row) => sum + row, 0) / Math.max(1, found.length)
  }
  // From the right: each beside the one it waits for, so that few arrows cross.
  for (let depth = 0; depth <= deepest; depth++) {
    const here = ordered.filter((session) => depthOf(unitOf(session)) === depth)
    const isInCircle = (session: string): boolean => circleOf.has(session)
    const sortedHere = [
      ...here.filter(isInCircle),
      ...here.filter((each) => !isInCircle(each)).toSorted((a, b) => meanRow(a) - meanRow(b)),
    ]
    for (const [row, session] of sortedHere.entries()) {
      places.set(session, {
        session,
        column: deepest - depth,
        row,
        isInCircle: isInCircle(session),
      })
    }
    rows.push(here.length)
  }
  const arrows = new Map<string, { from: Place; to: Place; paths: string[]; isInCircle: boolean }>()
  for (const { waiter, holder, path } of waits) {
    const key = `${waiter} ${holder}`
    const arrow = arrows.get(key) ?? {
      from: places.get(waiter)!,
      to: places.get(holder)!,
      paths: [],
      isInCircle: false,
    }
    arrow.paths.push(path)
    arrow.isInCircle ||= deadlocks.some((circle) =>
      circle.some((each) => each.waiter === waiter && each.holder === holder),
    )
    arrows.set(key, arrow)
  }
  return {
    places: [...places.values()],
    arrows: [...arrows.values()],
    columns: deepest + 1,
    rows: Math.max(0, ...rows),
  }
}

/** How far an arrow between sessions of one column goes out to the side. */
export const bulgeOf = ({ from, to }: Arrow): number => 28 + 10 * Math.abs(to.row - from.row)

const lettersMax = 17
const letterWidth = 7.5
const sideMin = 104

/** The label of an arrow. */
export function textOf({ paths }: Pick<Arrow, 'paths'>): string {
  const text = paths.length === 1 ? paths[0]! : `${paths[0]} and ${paths.length - 1} more`
  return shortText(text, lettersMax)
}

/** The end of a path says more than its beginning. */
export const shortText = (text: string, most: number): string =>
  text.length <= most ? text : `…${text.slice(1 - most)}`

/** Room beside the columns for the arrows within one, and what these say. */
export function sideOf(arrows: readonly Arrow[]): number {
  const widths = arrows
    .filter(({ from, to }) => from.column === to.column)
    .map((arrow) => bulgeOf(arrow) + textOf(arrow).length * letterWidth)
  return Math.ceil(Math.max(sideMin, ...widths))
}
