/**
 * Spans and metrics for OpenTelemetry. This module depends on none of its packages: it takes a tracer
 * and a meter that look like those of `@opentelemetry/api`.
 *
 *     import { metrics, trace } from '@opentelemetry/api'
 *     import { instrument } from '@zabra/client/opentelemetry'
 *
 *     const stop = instrument({ tracer: trace.getTracer('app'), meter: metrics.getMeter('app') })
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { ZabraError } from '../errors.ts'
import type { RequestTrace, StateTrace } from '../traces.ts'

type Attributes = Record<string, string | number>

/** The part of a span that is used. */
export interface SpanLike {
  setAttribute(key: string, value: string | number): unknown
  setStatus(status: { code: number; message?: string }): unknown
  recordException(error: Error): void
  end(): void
}

/** The part of a tracer that is used. */
export interface TracerLike {
  startSpan(name: string, options: { kind: number; attributes: Attributes }): SpanLike
}

/** The part of a meter that is used. */
export interface MeterLike {
  createHistogram(
    name: string,
    options: { unit: string; description: string },
  ): { record(value: number, attributes: Attributes): void }
  createCounter(
    name: string,
    options: { description: string },
  ): { add(value: number, attributes: Attributes): void }
}

export interface InstrumentOptions {
  readonly tracer?: TracerLike | undefined
  readonly meter?: MeterLike | undefined
}

/** `SpanKind.CLIENT` and `SpanStatusCode.ERROR`. */
const clientKind = 2
const errorStatus = 2

/**
 * Makes every request of every client of this process a span with the attributes of OpenTelemetry's
 * conventions for databases, and counts it in `db.client.operation.duration`; changes of state
 * count in `zabra.client.states`. Returns a function that stops this.
 *
 *     const stop = instrument({ tracer: trace.getTracer('app'), meter: metrics.getMeter('app') })
 */
export function instrument({ tracer, meter }: InstrumentOptions): () => void {
  const spans = new WeakMap<object, SpanLike>()
  const durations = meter?.createHistogram('db.client.operation.duration', {
    unit: 's',
    description: 'Duration of requests to ZooKeeper',
  })
  const states = meter?.createCounter('zabra.client.states', {
    description: 'Changes of the state of ZooKeeper sessions',
  })
  const listeners: Readonly<Record<string, (message: unknown) => void>> = {
    'tracing:zabra:client:request:start': (message) => {
      const trace = message as RequestTrace
      if (tracer === undefined) return
      const options = { kind: clientKind, attributes: attributesOf(trace) }
      spans.set(trace, tracer.startSpan(`zookeeper ${trace.operation}`, options))
    },
    'tracing:zabra:client:request:asyncEnd': (message) => {
      const trace = message as RequestTrace
      const { durationMs = 0, repeats = 0, error } = trace
      const failure: Attributes = error === undefined ? {} : { 'error.type': typeOf(error) }
      durations?.record(durationMs / 1000, { ...attributesOf(trace, false), ...failure })
      const span = spans.get(trace)
      if (span === undefined) return
      if (repeats > 0) span.setAttribute('zabra.repeats', repeats)
      if (error !== undefined) {
        span.setAttribute('error.type', typeOf(error))
        span.setStatus({ code: errorStatus, message: messageOf(error) })
        if (error instanceof Error) span.recordException(error)
      }
      span.end()
    },
    'zabra:client:state': (message) => {
      const { state, before } = message as StateTrace
      states?.add(1, { state: state.name, before: before.name })
    },
  }
  for (const [name, listener] of Object.entries(listeners)) subscribe(name, listener)
  return () => {
    for (const [name, listener] of Object.entries(listeners)) unsubscribe(name, listener)
  }
}

/** Paths are attributes of spans only: as labels of a metric they would be too many. */
function attributesOf({ operation, path, server }: RequestTrace, hasPath = true): Attributes {
  const colon = server.lastIndexOf(':')
  return {
    'db.system.name': 'zookeeper',
    'db.operation.name': operation,
    ...(hasPath && path !== undefined ? { 'db.collection.name': path } : {}),
    ...(colon > 0
      ? { 'server.address': server.slice(0, colon), 'server.port': Number(server.slice(colon + 1)) }
      : {}),
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'aborted'
}

function typeOf(error: unknown): string {
  if (error instanceof ZabraError) return error.code
  return error instanceof Error ? error.name : 'other'
}
