/** Prometheus' text format, version 0.0.4. */
import { Histogram } from '@zabra/core'
import type { ServerView } from '../../view/server-view.ts'
import { joinInSlices } from '../slices.ts'
import { collectMetrics } from './metrics.ts'
import type { Metric } from './metric.ts'
import { processMetrics } from './process-metrics.ts'

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

const quantiles = [0.5, 0.9, 0.95, 0.99]

export async function metricsText(view: ServerView): Promise<string> {
  const metrics = await collectMetrics(view)
  return joinInSlices(exposition([...metrics, ...processMetrics()]))
}

/** Metrics of one name must stand together, with HELP and TYPE before the first. */
export function* exposition(metrics: Iterable<Metric>): IterableIterator<string> {
  let last = ''
  for (const metric of metrics) {
    const { name, help, kind } = metric
    if (name !== last) yield `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${kind}\n`
    last = name
    if (metric.kind === 'summary') {
      const { summary } = metric
      if (summary instanceof Histogram) {
        for (const quantile of quantiles) {
          const value = summary.percentile(quantile) ?? NaN
          yield `${name}{quantile="${quantile}"} ${numberText(value)}\n`
        }
      }
      yield `${name}_sum ${numberText(summary.sum)}\n${name}_count ${numberText(summary.count)}\n`
    } else {
      const labels = metric.key === undefined ? '' : `{key="${escapeLabel(metric.key)}"}`
      yield `${name}${labels} ${numberText(metric.value)}\n`
    }
  }
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf'
  return value === -Infinity ? '-Inf' : String(value)
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"')
}
