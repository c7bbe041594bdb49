import type { ZabStats } from '../../consensus/zab/zab-stats.ts'
import type { Clock } from '../../service/pipeline-options.ts'
import type { ClientPipeline } from '../../service/client-pipeline.ts'
import type { Batches } from '../../storage/log/log-batch.ts'
import type { ClientService } from '../client-service.ts'
import type { Dialler } from '../dialler.ts'
import type { Electing } from '../electing.ts'
import type { EnsembleOptions, EnsembleParts } from '../ensemble-parts.ts'
import type { HandingOver } from '../handing-over.ts'
import type { Journal } from '../journal.ts'
import type { LocalHistory } from '../local-history.ts'
import type { Members } from '../members.ts'
import type { Restoring } from '../restoring.ts'
import type { Standing } from '../standing.ts'
import type { StopSignal } from '../stop-signal.ts'

/** The shared state of all roles of a server. It outlives each of them. */
export interface RoleParts extends Omit<EnsembleParts, 'journal'> {
  readonly options: EnsembleOptions
  readonly clock: Clock
  readonly pipeline: ClientPipeline
  readonly batches: Batches
  readonly setTime: (nowMs: number, wallMs: number) => void
  readonly stopSignal: StopSignal
  readonly standing: Standing
  readonly service: ClientService
  readonly journal: Journal
  readonly history: LocalHistory
  readonly members: Members
  readonly electing: Electing
  readonly dialler: Dialler
  readonly restoring: Restoring
  readonly handingOver: HandingOver
  readonly zabStats: ZabStats
}
