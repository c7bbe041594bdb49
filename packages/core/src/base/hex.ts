/** A zxid or the id of a session, as ZooKeeper writes them: `0x100000001`. */
export function hex(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`
}
