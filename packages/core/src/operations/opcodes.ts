/** The numbers of the operations, by the names the pipeline uses. */
export const op = {
  create: 1,
  delete: 2,
  setData: 5,
  setAcl: 7,
  sync: 9,
  ping: 11,
  multi: 14,
  create2: 15,
  reconfig: 16,
  createContainer: 19,
  deleteContainer: 20,
  createTtl: 21,
  multiRead: 22,
  auth: 100,
  setWatches: 101,
  sasl: 102,
  setWatches2: 105,
  error: -1,
  createSession: -10,
  closeSession: -11,
} as const

/** The operations that become transactions when a client asks for them. */
export const clientWrites: ReadonlySet<number> = new Set([
  op.create,
  op.delete,
  op.setData,
  op.setAcl,
  op.multi,
  op.create2,
  op.reconfig,
  op.createContainer,
  op.deleteContainer,
  op.createTtl,
])
