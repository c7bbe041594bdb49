/** The former holders of a lock, from the creations and deletions of its contenders. */

export interface Coming {
  readonly kind: string
  readonly time: string
  readonly path: string | null
  readonly session: string | null
  readonly cause: string | null
  readonly data?: string | null
}

export interface Tenure {
  readonly node: string
  readonly session: string | null
  readonly id: string | null
  readonly fromMs: number
  /** Undefined: it still holds. */
  readonly toMs: number | undefined
  /** How long it waited; undefined where its beginning is not known. */
  readonly waitedMs: number | undefined
  /** Its session ended. */
  readonly isLost: boolean
}

interface Contending {
  readonly node: string
  readonly session: string | null
  readonly id: string | null
  readonly sinceMs: number | undefined
}

/**
 * The tenures of an exclusive lock or an election, the newest first. `changes` are in their order;
 * `current` are the contenders that stand now, in line.
 */
export function tenuresIn(
  changes: readonly Coming[],
  current: readonly Omit<Contending, 'sinceMs'>[],
): readonly Tenure[] {
  const known = new Set(changes.filter(({ kind }) => kind === 'create').map(({ path }) => path))
  const gone = changes.filter(({ kind, path }) => kind === 'delete' && !known.has(path))
  // Those whose beginning is not known were there before all others.
  const line: Contending[] = [
    ...gone.map(({ path }) => ({ node: path ?? '', session: null, id: null, sinceMs: undefined })),
    ...current
      .filter(({ node }) => !known.has(node))
      .map((each) => ({ ...each, sinceMs: undefined })),
  ]
  const found: Tenure[] = []
  let holding: { readonly by: Contending; readonly fromMs: number } | undefined
  const settle = (timeMs: number, isLost: boolean): void => {
    const [first] = line
    if (holding?.by === first) return
    if (holding !== undefined) found.push(tenureOf(holding, timeMs, isLost))
    holding = first === undefined ? undefined : { by: first, fromMs: timeMs }
  }
  for (const { kind, time, path, session, cause, data } of changes) {
    const timeMs = Date.parse(time)
    if (kind === 'create') {
      line.push({ node: path ?? '', session, id: data ?? null, sinceMs: timeMs })
      settle(timeMs, false)
    } else if (kind === 'delete') {
      const at = line.findIndex(({ node }) => node === path)
      if (at >= 0) line.splice(at, 1)
      settle(timeMs, cause === 'sessionEnd')
    }
  }
  if (holding !== undefined) found.push(tenureOf(holding, undefined, false))
  return found.toReversed()
}

function tenureOf(
  { by, fromMs }: { readonly by: Contending; readonly fromMs: number },
  toMs: number | undefined,
  isLost: boolean,
): Tenure {
  const { node, session, id, sinceMs } = by
  const waitedMs = sinceMs === undefined ? undefined : fromMs - sinceMs
  return { node, session, id, fromMs, toMs, waitedMs, isLost }
}
