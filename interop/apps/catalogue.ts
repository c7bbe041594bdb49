import type { Application } from './application.ts'
import { prometheus } from './prometheus/prometheus.ts'

export const applications: readonly Application[] = [prometheus]
