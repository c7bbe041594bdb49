import type { DigestMismatch } from '../state/digest-check.ts'
import type { QuotaExcess } from '../state/tree/quotas.ts'
import type { SessionEnd } from './sessions/session-ends.ts'
import type { LimitName } from './limits.ts'

/** Events inside the server, for logs, metrics, transcripts and tests. */
export type TraceEvent =
  | {
      readonly type: 'sessionCreated'
      readonly sessionId: bigint
      readonly timeoutMs: number
      readonly address: string
    }
  | {
      readonly type: 'sessionResumed'
      readonly sessionId: bigint
      readonly timeoutMs: number
      readonly address: string
    }
  | {
      readonly type: 'sessionRefused'
      readonly sessionId: bigint
      readonly address: string
      readonly reason: 'unknown' | 'password'
    }
  | {
      readonly type: 'clientAhead'
      readonly lastZxidSeen: bigint
      readonly lastZxid: bigint
      readonly address: string
    }
  | { readonly type: 'sessionExpired'; readonly sessionId: bigint; readonly timeoutMs: number }
  | { readonly type: 'sessionClosed'; readonly sessionId: bigint }
  /** The facts that this server knows about an ended session. */
  | { readonly type: 'sessionEnded'; readonly end: SessionEnd }
  | { readonly type: 'badFrame'; readonly address: string; readonly reason: string }
  | { readonly type: 'unknownOperation'; readonly address: string; readonly operation: number }
  | { readonly type: 'authFailed'; readonly address: string; readonly scheme: string | null }
  | { readonly type: 'limitReached'; readonly limit: LimitName; readonly address: string }
  | { readonly type: 'reclaimed'; readonly paths: number }
  | { readonly type: 'writesSuspended' }
  | { readonly type: 'writesResumed' }
  | ({ readonly type: 'quotaExceeded' } & QuotaExcess)
  | ({ readonly type: 'digestMismatch' } & DigestMismatch)

export type Trace = (event: TraceEvent) => void
