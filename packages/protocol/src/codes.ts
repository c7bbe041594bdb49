/** Numeric constants of the protocol other than operations and errors. */

export const createFlags = {
  persistent: 0,
  ephemeral: 1,
  persistentSequential: 2,
  ephemeralSequential: 3,
  container: 4,
  persistentTtl: 5,
  persistentSequentialTtl: 6,
} as const

export const permissions = {
  read: 1,
  write: 2,
  create: 4,
  delete: 8,
  admin: 16,
  all: 31,
} as const

export const eventTypes = {
  nodeCreated: 1,
  nodeDeleted: 2,
  nodeDataChanged: 3,
  nodeChildrenChanged: 4,
} as const
export type EventType = (typeof eventTypes)[keyof typeof eventTypes]

/** The only keeper state in notifications. */
export const syncConnected = 3

export const watcherTypes = {
  children: 1,
  data: 2,
  any: 3,
  persistent: 4,
  persistentRecursive: 5,
} as const

export const addWatchModes = { persistent: 0, persistentRecursive: 1 } as const

/** Request and reply ids with a special meaning. */
export const xids = { notification: -1, ping: -2, auth: -4, setWatches: -8 } as const

/** Matches any version. */
export const anyVersion = -1

/** The ephemeralOwner of a container node, in place of a session id. */
export const containerOwner = -0x8000000000000000n
