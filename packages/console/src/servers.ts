/** The member of the ensemble whose API this page uses, and those where it can go. */
import { computed, signal } from '@preact/signals'

export interface Server {
  /** Undefined until the ensemble has said. */
  readonly id: string | undefined
  readonly origin: string
}

/** Where this page came from. */
export const home = location.origin
/** The server in use. */
export const server = signal<Server>({ id: undefined, origin: home })
/** While no server serves, one that answers, and what it does instead. */
export const idle = signal<{ readonly server: Server; readonly state: string } | undefined>(
  undefined,
)
/** All members with a console, as the ensemble says. */
export const servers = signal<readonly Server[]>([])
/** How many members do not serve, where that is known. */
export const failing = signal(0)
export const isAway = computed(() => server.value.origin !== home)

/** Whether the user chose the server in use, rather than the page when another one was lost. */
export const isChosen = signal(false)

/** The last transaction that any server has shown to this page. */
let shownZxid = 0n

export function noteZxid(text: string | null): void {
  if (text === null || !/^0x[0-9a-f]{1,16}$/.test(text)) return
  const zxid = BigInt(text)
  if (zxid > shownZxid) shownZxid = zxid
}

/** Whether a server has applied less than this page has shown. */
export function isBehind(text: string | null): boolean {
  return text !== null && BigInt(text) < shownZxid
}

/** A restored ensemble begins with smaller transaction ids. */
export function forgetZxid(): void {
  shownZxid = 0n
}

/** The server in use first, then the one of this page, then the others. */
export function candidates(): readonly Server[] {
  const known = servers.value
  const own = known.find(({ origin }) => origin === home) ?? { id: undefined, origin: home }
  const inUse = known.find(({ origin }) => origin === server.value.origin) ?? server.value
  const all = [inUse, own, ...known]
  return all.filter((each, at) => all.findIndex(({ origin }) => origin === each.origin) === at)
}

const failingStates = new Set(['unreachable', 'notServing'])

/** The page's own server is known by the name in the address bar, the others by what they say. */
export function learnServers(
  members: readonly {
    readonly id: string
    readonly isSelf: boolean
    readonly state: string
    readonly admin: string | null
  }[],
): void {
  failing.value = members.filter(({ state }) => failingStates.has(state)).length
  const { origin } = server.value
  const homeId = servers.value.find((each) => each.origin === home)?.id
  servers.value = members.flatMap(({ id, isSelf, admin }): Server[] => {
    if (isSelf) return [{ id, origin }]
    if (id === homeId) return [{ id, origin: home }]
    return admin === null ? [] : [{ id, origin: `${location.protocol}//${admin}` }]
  })
  const self = members.find(({ isSelf }) => isSelf)?.id
  server.value = { id: self, origin }
}

export function nameOf({ id, origin }: Server): string {
  const host = new URL(origin).host
  return id === undefined || id === '0' ? host : `server ${id} (${host})`
}
