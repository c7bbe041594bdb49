import type { Application } from './application.ts'
import { clickhouse } from './clickhouse/clickhouse.ts'
import { kafka } from './kafka/kafka.ts'
import { patroni } from './patroni/patroni.ts'
import { prometheus } from './prometheus/prometheus.ts'

export const applications: readonly Application[] = [kafka, patroni, clickhouse, prometheus]
