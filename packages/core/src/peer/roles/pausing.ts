import type { Role } from './role.ts'
import type { RoleParts } from './role-parts.ts'

/** Waits, so that a leader that cannot be joined, or a quorum that does not form, is not flooded. */
export class Pausing implements Role<void> {
  readonly name = 'pausing'
  readonly state = 'looking'
  private readonly parts: RoleParts
  private readonly ms: number

  constructor(parts: RoleParts, ms: number) {
    this.parts = parts
    this.ms = ms
  }

  run(): Promise<void> {
    const { stopSignal, host } = this.parts
    return stopSignal.pause(host, this.ms)
  }
}
