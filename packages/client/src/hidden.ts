import { formatZxid } from './stat.ts'
import type { SessionInfo } from './state.ts'

/** The method that Node's `util.inspect` calls instead of showing every property. */
export const inspect: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

/**
 * A session whose password does not appear in logs: neither `console.log` nor `JSON.stringify`
 * shows it. It is still a property, for programs that hand the session over.
 */
class Session implements SessionInfo {
  readonly id: bigint
  readonly password: Uint8Array
  readonly timeoutMs: number

  constructor({ id, password, timeoutMs }: SessionInfo) {
    this.id = id
    this.password = password
    this.timeoutMs = timeoutMs
  }

  toJSON(): { readonly id: string; readonly timeoutMs: number } {
    return { id: formatZxid(this.id), timeoutMs: this.timeoutMs }
  }

  [inspect](): string {
    return `Session { id: ${formatZxid(this.id)}, timeoutMs: ${this.timeoutMs} }`
  }
}

export function withHiddenPassword(session: SessionInfo): SessionInfo {
  return new Session(session)
}
