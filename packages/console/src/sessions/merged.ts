interface Placed {
  readonly id: string
  readonly connection: object | null
  readonly isOfApi: boolean
}

/**
 * The first sessions, with the connections that the others have; with `isMore`, also those that only
 * the others have.
 */
export function merged<Session extends Placed>(
  first: readonly Session[],
  others: readonly Session[],
  isMore: boolean,
): readonly Session[] {
  const all = new Map(first.map((each) => [each.id, each]))
  for (const other of others) {
    const known = all.get(other.id)
    const isBetter = known?.connection === null && (other.connection !== null || other.isOfApi)
    if (isBetter || (known === undefined && isMore)) all.set(other.id, other)
  }
  return [...all.values()]
}
