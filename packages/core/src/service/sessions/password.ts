const multiplier = 0x5deece66dn
const increment = 0xbn
const mask = (1n << 48n) - 1n
const secret = 0xb3415c00n

/** Passwords prove that a client owns a session. */
export interface SessionPasswords {
  of(sessionId: bigint): Uint8Array
  isRight(sessionId: bigint, password: Uint8Array | null): boolean
}

/** Those that every server of Apache's gives and takes. */
export const apachePasswords: SessionPasswords = {
  of: sessionPassword,
  isRight: isSessionPassword,
}

/**
 * The password of a session: a function of its id alone, the same on every server of every
 * release, so that clients survive the replacement of a server. It proves nothing; it only
 * keeps clients from mixing up sessions by accident.
 */
export function sessionPassword(sessionId: bigint): Uint8Array {
  const password = new Uint8Array(16)
  let state = (BigInt.asUintN(64, sessionId) ^ secret ^ multiplier) & mask
  for (let i = 0; i < 16; i += 4) {
    state = (state * multiplier + increment) & mask
    const word = Number(state >> 16n)
    password[i] = word & 0xff
    password[i + 1] = (word >>> 8) & 0xff
    password[i + 2] = (word >>> 16) & 0xff
    password[i + 3] = (word >>> 24) & 0xff
  }
  return password
}

export function isSessionPassword(sessionId: bigint, password: Uint8Array | null): boolean {
  if (sessionId === 0n || password === null || password.length !== 16) return false
  const right = sessionPassword(sessionId)
  return right.every((byte, i) => byte === password[i])
}
