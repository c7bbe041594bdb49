import type { Target } from '../target.ts'
import { adminPort } from './admin-port.ts'
import { clientPort } from './client-port.ts'
import { packets, requests, transactions } from './codecs.ts'
import { logs, snapshots } from './files.ts'
import { electionPort, quorumPort } from './peer-ports.ts'
import { binaryStores, names, pemStores } from './stores.ts'
import { configuration, jaas, members, sasl } from './texts.ts'

/** Everything in zabra that reads untrusted bytes. */
export const targets: readonly Target[] = [
  clientPort,
  requests,
  transactions,
  packets,
  quorumPort,
  electionPort,
  adminPort,
  sasl,
  binaryStores,
  pemStores,
  names,
  configuration,
  members,
  jaas,
  logs,
  snapshots,
]
