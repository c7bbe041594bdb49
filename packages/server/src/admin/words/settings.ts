import { formatMembership } from '@zabra/core'
import type { ServerView } from '../../view/server-view.ts'
import { environment } from '../../view/environment.ts'

/** `conf`: the effective settings. */
export async function conf(view: ServerView): Promise<string> {
  const { config, clientPort, secureClientPort, directories, adminAddress } = view
  const sizes = await view.directorySizes()
  const settings = {
    clientPort: config.clientPort === undefined ? -1 : clientPort,
    secureClientPort: config.tls.port === undefined ? -1 : secureClientPort,
    dataDir: directories.data,
    dataDirSize: sizes.data,
    dataLogDir: directories.log,
    dataLogSize: sizes.log,
    tickTime: config.tickMs,
    maxClientCnxns: config.maxClientCnxns,
    minSessionTimeout: config.sessionTimeoutMsMin,
    maxSessionTimeout: config.sessionTimeoutMsMax,
    clientPortListenBacklog: config.clientPortListenBacklog,
    serverId: config.ensemble?.serverId ?? 0,
  }
  // ZooKeeper has no such line. The command `zabra` uses it to find the admin port.
  const own = adminAddress === undefined ? '' : lines({ adminAddress })
  return lines(settings) + own + ensembleSettings(view)
}

function ensembleSettings({ ensemble }: ServerView): string {
  if (ensemble === undefined) return ''
  const { config, membership } = ensemble
  const own = membership.servers.get(BigInt(config.serverId))?.addresses ?? []
  const settings = lines({
    initLimit: config.initLimit,
    syncLimit: config.syncLimit,
    electionAlg: 3,
    electionPort: own.map(({ electionPort }) => electionPort).join('|'),
    quorumPort: own.map(({ quorumPort }) => quorumPort).join('|'),
    peerType: config.role === 'observer' ? 1 : 0,
  })
  return `${settings}membership: \n${formatMembership(membership)}`
}

/** `dirs`: disk usage. */
export async function dirs(view: ServerView): Promise<string> {
  const { data, log } = await view.directorySizes()
  return `datadir_size: ${data}\nlogdir_size: ${log}\n`
}

/** `envi`: the environment of the process. */
export function* envi(): IterableIterator<string> {
  yield 'Environment:\n'
  yield lines(environment())
}

function lines(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')
}
