import type { ZabTrace } from '../consensus/zab/options.ts'
import type { ClientPipeline } from '../service/client-pipeline.ts'
import type { Clock } from '../service/pipeline-options.ts'
import { NoQuorum } from '../service/no-quorum.ts'
import { LocalSessions, type GlobalUpstream } from '../service/sessions/local-sessions.ts'
import type { Trace } from '../service/trace.ts'
import type { Upstream } from '../service/upstream.ts'
import type { EnsembleOptions } from './ensemble-parts.ts'

export interface ClientServiceParts {
  readonly pipeline: ClientPipeline
  readonly clock: Clock
  readonly trace: Trace
  readonly zabTrace: ZabTrace
  /** Shows clients the configuration that this server knows to be committed. */
  readonly showConfig: () => void
}

/** Begins and ends the service of clients, as the roles of a server allow it. */
export class ClientService {
  private readonly parts: ClientServiceParts
  private readonly options: EnsembleOptions

  constructor(parts: ClientServiceParts, options: EnsembleOptions) {
    this.parts = parts
    this.options = options
  }

  get isServing(): boolean {
    return this.parts.pipeline.upstream !== undefined
  }

  /** The upstream to serve clients by: in front of it are local sessions, if there are any. */
  upstreamTo(global: GlobalUpstream): Upstream {
    const { localSessions } = this.options
    return localSessions === undefined ? global : this.keepingLocal(global, localSessions.upgrading)
  }

  /** Serves read-only clients, without a leader. */
  serveReads(): void {
    const { pipeline, showConfig } = this.parts
    showConfig()
    pipeline.upstream = this.keepingLocal(new NoQuorum(pipeline), false)
  }

  /** A server that waits for room on its disk takes no part, but serves reads in read-only mode. */
  async serveReadsWhile(waiting: () => Promise<void>): Promise<void> {
    if (this.options.readOnlyMode !== true) return waiting()
    this.parts.zabTrace({ type: 'readOnlyWhileFull' })
    this.serveReads()
    try {
      await waiting()
    } finally {
      this.stop()
    }
  }

  /** Sessions that only this server knew end with the role, as in Apache. */
  stop(): void {
    const { pipeline } = this.parts
    pipeline.takesClients = true
    pipeline.stopServing()
  }

  tick(): void {
    this.parts.pipeline.upstream?.tick?.()
  }

  private keepingLocal(global: GlobalUpstream, upgrading: boolean): LocalSessions {
    const { pipeline, clock, trace } = this.parts
    const { tickMs } = this.options
    return new LocalSessions({ global, pipeline, clock, trace }, { tickMs, upgrading })
  }
}
