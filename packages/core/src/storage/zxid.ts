/** The epoch a zxid belongs to. */
export function epochOf(zxid: bigint): bigint {
  return zxid >> 32n
}

/** The zxid that stands for an epoch as such; no transaction ever carries it. */
export function epochStart(epoch: bigint): bigint {
  return epoch << 32n
}

export function counterOf(zxid: bigint): bigint {
  return zxid & 0xffffffffn
}

/** Whether nothing is missing between two transactions of one history. */
export function follows(zxid: bigint, next: bigint): boolean {
  return next === zxid + 1n || (counterOf(next) === 1n && epochOf(next) > epochOf(zxid))
}

/** The same for the ends of files, which may also be the start of an epoch. */
export function isNextZxid(zxid: bigint, next: bigint): boolean {
  return follows(zxid, next) || (counterOf(next) === 0n && epochOf(next) > epochOf(zxid))
}
