import { Histogram } from '@zabra/core'
import type { ServerView } from '../../view/server-view.ts'
import { doubleText, rounded } from '../java-text.ts'
import { Double, type Json } from '../json.ts'
import { serverState } from '../../view/server-state.ts'
import { versionText } from '../../view/version.ts'
import { collectMetrics } from './metrics.ts'
import type { Measured, Metric } from './metric.ts'

const percentiles = { p50: 0.5, p95: 0.95, p99: 0.99, p999: 0.999 } as const

/** `mntr`: every metric, one per line. */
export async function monitorLines(view: ServerView): Promise<string> {
  const lines: string[] = []
  for (const [name, value] of await monitorValues(view)) {
    const text = value instanceof Double ? doubleText(value.value) : String(value)
    lines.push(`zk_${name}\t${text}\n`)
  }
  return lines.join('')
}

/** Every metric by its flat name, as in `mntr` and the command `monitor`. */
export async function monitorValues(
  view: ServerView,
): Promise<[name: string, value: Extract<Json, string | number | Double>][]> {
  const metrics = await collectMetrics(view)
  return [
    ['version', versionText],
    ['server_state', serverState(view)],
    ...ensembleValues(view),
    ...metrics.flatMap((metric) => flatten(metric)),
  ]
}

function ensembleValues({ ensemble, ensembleState }: ServerView): [string, string | number][] {
  if (ensemble === undefined || ensembleState === undefined) return []
  const { phase, master } = ensemble.stats
  const state = phase === 'election' ? ensembleState : `${ensembleState} - ${phase}`
  const masterId: [string, number][] =
    ensembleState === 'observing' ? [['observer_master_id', Number(master ?? -1n)]] : []
  return [['peer_state', state], ...masterId]
}

function flatten(metric: Metric): [string, number | Double][] {
  if (metric.kind === 'summary') return flattenSummary(metric)
  const { name, key, value, isFraction = false } = metric
  const flat = key === undefined ? name : `${key}_${name}`
  return [[flat, isFraction ? new Double(value) : value]]
}

function flattenSummary({ name, summary }: Measured): [string, number | Double][] {
  const flat: [string, number | Double][] = [
    [`avg_${name}`, new Double(rounded(summary.mean))],
    [`min_${name}`, Math.round(summary.min)],
    [`max_${name}`, Math.round(summary.max)],
    [`cnt_${name}`, summary.count],
    [`sum_${name}`, Math.round(summary.sum)],
  ]
  if (!(summary instanceof Histogram)) return flat
  for (const [label, share] of Object.entries(percentiles)) {
    flat.push([`${label}_${name}`, summary.percentile(share) ?? 0])
  }
  return flat
}
