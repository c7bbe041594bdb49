import { AssertionError } from '../base/assert.ts'
import type { Session } from './sessions/tracker.ts'
import type { ClientPipeline } from './client-pipeline.ts'
import type { ClientConnection } from './connection.ts'
import type { GlobalUpstream } from './sessions/local-sessions.ts'

/**
 * The upstream of a server that finds no leader. The pipeline sends no writes here, and only local
 * sessions can be resumed.
 */
export class NoQuorum implements GlobalUpstream {
  readonly acceptsWrites = false
  readonly isReadOnly = true
  private readonly pipeline: ClientPipeline

  constructor(pipeline: ClientPipeline) {
    this.pipeline = pipeline
  }

  resumeSession(connection: ClientConnection, sessionId: bigint): void {
    this.pipeline.resumed(connection, sessionId, undefined)
  }

  sessionOf(): undefined {
    return undefined
  }

  write(): never {
    return impossible()
  }
  createSession(): never {
    return impossible()
  }
  closeSession(): never {
    return impossible()
  }
  makeGlobal(): Session {
    return impossible()
  }
  touch(): never {
    return impossible()
  }
  applied(): never {
    return impossible()
  }
}

function impossible(): never {
  throw new AssertionError('without a quorum there are no writes and no global sessions')
}
