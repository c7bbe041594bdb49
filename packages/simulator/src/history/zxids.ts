export function epochOf(zxid: bigint): bigint {
  return zxid >> 32n
}

export function epochStart(epoch: bigint): bigint {
  return epoch << 32n
}

export function counterOf(zxid: bigint): bigint {
  return zxid & 0xffff_ffffn
}

/** Whether one transaction directly follows another. */
export function follows(zxid: bigint, next: bigint): boolean {
  return next === zxid + 1n || (epochOf(next) > epochOf(zxid) && counterOf(next) === 1n)
}

export function hex(zxid: bigint): string {
  return `0x${zxid.toString(16)}`
}
