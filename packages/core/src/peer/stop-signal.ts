import { Deferred } from '../base/deferred.ts'
import type { Host } from '../ports.ts'

/** Whether a server is stopping. The signal is given once, and ends everything that the server waits for. */
export class StopSignal {
  private readonly signaled = new Deferred<never>()
  private hasCome = false

  get isStopped(): boolean {
    return this.hasCome
  }

  stop(reason: Error): void {
    this.hasCome = true
    this.signaled.reject(reason)
  }

  /** The promise; rejects as soon as the server is to stop. */
  orStopped<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.signaled.promise])
  }

  async pause(host: Host, ms: number): Promise<void> {
    const { done, cut } = host.delay(ms)
    await this.orStopped(done).finally(cut)
  }
}
