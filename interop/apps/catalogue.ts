import type { Application } from './application.ts'
import { clickhouse } from './clickhouse/clickhouse.ts'
import { curator } from './curator/curator.ts'
import { hbase } from './hbase/hbase.ts'
import { hdfs } from './hdfs/hdfs.ts'
import { kafka } from './kafka/kafka.ts'
import { patroni } from './patroni/patroni.ts'
import { prometheus } from './prometheus/prometheus.ts'

import { solr } from './solr/solr.ts'

export const applications: readonly Application[] = [
  kafka,
  patroni,
  clickhouse,
  hbase,
  hdfs,
  solr,
  prometheus,
  curator('3.9'),
  curator('3.8'),
]
