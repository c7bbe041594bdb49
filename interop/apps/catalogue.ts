import type { Application } from './application.ts'
import { clickhouse } from './clickhouse/clickhouse.ts'
import { curator } from './curator/curator.ts'
import { hbase } from './hbase/hbase.ts'
import { kafka } from './kafka/kafka.ts'
import { patroni } from './patroni/patroni.ts'
import { prometheus } from './prometheus/prometheus.ts'

export const applications: readonly Application[] = [
  kafka,
  patroni,
  clickhouse,
  hbase,
  prometheus,
  curator('3.9'),
  curator('3.8'),
]
