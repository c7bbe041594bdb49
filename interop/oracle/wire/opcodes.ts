/**
 * The oracle implements the protocol itself instead of using @zabra/protocol: a mistake there must
 * show as a divergence, not cancel itself out. It also writes what no codec should (truncated
 * bodies, null paths, invalid UTF-8), and reads so strictly that a decoded reply stands for exactly
 * one sequence of bytes.
 */
export const opcodes = {
  notification: 0,
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  getACL: 6,
  setACL: 7,
  getChildren: 8,
  sync: 9,
  ping: 11,
  getChildren2: 12,
  check: 13,
  multi: 14,
  create2: 15,
  reconfig: 16,
  checkWatches: 17,
  removeWatches: 18,
  createContainer: 19,
  deleteContainer: 20,
  createTTL: 21,
  multiRead: 22,
  auth: 100,
  setWatches: 101,
  sasl: 102,
  getEphemerals: 103,
  getAllChildrenNumber: 104,
  setWatches2: 105,
  addWatch: 106,
  whoAmI: 107,
  createSession: -10,
  closeSession: -11,
} as const

export type Opname = keyof typeof opcodes

const namesByCode = new Map<number, Opname>(
  Object.entries(opcodes).map(([name, code]) => [code, name as Opname]),
)

export function opname(code: number): Opname | undefined {
  return namesByCode.get(code)
}

/** Request and reply ids with a special meaning. */
export const xids = { notification: -1, ping: -2, auth: -4, setWatches: -8 } as const
