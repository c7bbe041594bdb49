import type { ServerId } from '../../../src/membership/quorum.ts'
import { TestEnsemble } from '../ensemble.ts'
import { stepDisk } from './stepped-disk.ts'
import { SteppedNetwork } from './stepped-network.ts'

/** An event that happens on request. */
export interface Waiting {
  /** The same server twice, where it is that one's disk. */
  readonly from: ServerId
  readonly to: ServerId
  /** Its name; undefined for a disk, of which only the effects have names. */
  readonly describe: (() => string) | undefined
  /** Whether there is still somebody to take it. */
  readonly isWanted: () => boolean
  readonly go: () => void
}

/**
 * Servers whose packets and whose writes to disk wait to be let go, one by one, in the order in
 * which they were asked for. Elections need no help.
 */
export class SteppedEnsemble extends TestEnsemble {
  waiting: Waiting[] = []
  /** The names of sessions. */
  sessionNames = (sessionId: bigint): string => `0x${sessionId.toString(16)}`

  override networkFor(id: ServerId): SteppedNetwork {
    return new SteppedNetwork(this, id)
  }

  /** Of a server that is up. */
  networkOf(id: ServerId): SteppedNetwork | undefined {
    const server = this.servers.get(id)
    return server?.isUp === true ? (server.network as SteppedNetwork) : undefined
  }

  /** Starts a server; `changed` is called when something may have become durable on its disk. */
  async startStepped(id: ServerId, changed: () => Promise<void>): Promise<void> {
    const server = this.servers.get(id)!
    await server.start()
    const { disk } = server
    const mayGo = (): Promise<void> =>
      new Promise((resolve) => {
        const isWanted = (): boolean => server.disk === disk
        this.waiting.push({ from: id, to: id, describe: undefined, isWanted, go: resolve })
      })
    stepDisk(disk, { mayGo, changed })
  }

  crash(id: ServerId): void {
    this.waiting = this.waiting.filter(({ from }) => from !== id)
    this.servers.get(id)!.crash()
  }
}
