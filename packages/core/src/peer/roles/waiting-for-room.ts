import { faultCode } from '../../ports.ts'
import type { Role } from './role.ts'
import type { RoleParts } from './role-parts.ts'

const retryMs = 500

/**
 * Waits until the disk has room to promise an epoch, because without that a server can neither
 * follow nor lead. If it voted meanwhile, it might be elected for its long history, fail, and be
 * elected again, without end.
 */
export class WaitingForRoom implements Role<void> {
  readonly name = 'waitingForRoom'
  readonly state = 'looking'
  private readonly parts: RoleParts

  constructor(parts: RoleParts) {
    this.parts = parts
  }

  async run(): Promise<void> {
    const { standing, stopSignal, host, service } = this.parts
    if (standing.lastEnding?.hasServed === false) {
      await stopSignal.pause(host, standing.takeRoomPauseMs())
    }
    await service.serveReadsWhile(() => this.roomForPromises())
  }

  private async roomForPromises(): Promise<void> {
    const { epochs, stopSignal, host } = this.parts
    for (;;) {
      try {
        await epochs.setAccepted(epochs.accepted)
        return
      } catch (error) {
        if (faultCode(error) !== 'ENOSPC') throw error
        await stopSignal.pause(host, retryMs)
      }
    }
  }
}
