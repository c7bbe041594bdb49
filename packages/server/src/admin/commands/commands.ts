import type { ServerView } from '../../view/server-view.ts'
import { environment } from '../../view/environment.ts'
import { explainEnd } from '../../view/session-end.ts'
import { hexDigits } from '../java-text.ts'
import { monitorValues } from '../metrics/monitor.ts'
import { Refused, type Answer, type Call, type Command, type Outcome } from './command.ts'
import { leader, observers, resetObservers, votingView, zabState } from './ensemble.ts'
import { restore } from './restore.ts'
import { snapshot } from './snapshot.ts'
import { connectionLists, serverStats } from './status.ts'
import { hideSecrets, isSecret } from './secrets.ts'
import { dump, watches, watchesByPath } from './tables.ts'

export const commands: readonly Command[] = [
  { name: 'configuration', aliases: ['conf', 'config'], isPrivate: true, run: configuration },
  {
    name: 'connection_stat_reset',
    aliases: ['crst'],
    isPrivileged: true,
    run(view) {
      for (const { connection } of view.sockets) connection.resetStats()
      return {}
    },
  },
  {
    name: 'connections',
    aliases: ['cons'],
    isPrivate: true,
    run: (view) => connectionLists(view, 'all'),
  },
  {
    name: 'dirs',
    async run(view) {
      const { data, log } = await view.directorySizes()
      return { datadir_size: data, logdir_size: log }
    },
  },
  { name: 'dump', isPrivate: true, run: dump },
  {
    name: 'environment',
    aliases: ['env', 'envi'],
    isPrivate: true,
    isAlwaysAnswered: true,
    run: () => environment(),
  },
  {
    name: 'expired_sessions',
    isPrivate: true,
    isAlwaysAnswered: true,
    run: ({ peer }) => ({
      expired_sessions: peer.sessionEnds.expired.toReversed().map((end) => {
        const { verdict, sentences, unknown } = explainEnd(end)
        return {
          session_id: hexDigits(end.sessionId),
          time: new Date(end.wallMs).toISOString(),
          zxid: hexDigits(end.zxid),
          verdict,
          seen: sentences,
          unknown,
        }
      }),
    }),
  },
  {
    name: 'get_trace_mask',
    aliases: ['gtmk'],
    isAlwaysAnswered: true,
    run: (view) => ({ tracemask: view.traceMask }),
  },
  { name: 'hand_over', isPost: true, isPrivileged: true, run: handOver },
  { name: 'hash', run: digests },
  {
    name: 'initial_configuration',
    aliases: ['icfg'],
    isPrivate: true,
    run: (view) => ({ initial_configuration: hideSecrets(view.config.configText) }),
  },
  { name: 'is_read_only', aliases: ['isro'], run: isReadOnly },
  {
    name: 'last_snapshot',
    aliases: ['lsnp'],
    run: ({ disk }) => ({
      zxid: hexDigits(disk.lastSnapshotZxid),
      timestamp: Math.floor(disk.lastSnapshotWallMs / 1000),
    }),
  },
  { name: 'leader', aliases: ['lead'], run: leader },
  {
    name: 'monitor',
    aliases: ['mntr'],
    isAlwaysAnswered: true,
    run: async (view) => Object.fromEntries(await monitorValues(view)),
  },
  {
    name: 'observer_connection_stat_reset',
    aliases: ['orst'],
    isPrivileged: true,
    run: resetObservers,
  },
  { name: 'observers', aliases: ['obsr'], run: observers },
  { name: 'restore', aliases: ['rest'], isPost: true, isPrivileged: true, run: restore },
  { name: 'ruok', run: () => ({}) },
  { name: 'server_stats', aliases: ['srvr'], run: serverStats },
  {
    name: 'set_trace_mask',
    aliases: ['stmk'],
    isPrivileged: true,
    isAlwaysAnswered: true,
    run: setTraceMask,
  },
  { name: 'snapshot', aliases: ['snap'], isPrivileged: true, run: snapshot },
  {
    name: 'stat_reset',
    aliases: ['srst'],
    isPrivileged: true,
    run(view) {
      view.peer.stats.reset()
      view.disk.slowSyncs = 0
      return {}
    },
  },
  {
    name: 'stats',
    aliases: ['stat'],
    isPrivate: true,
    run: async (view) => ({ ...(await serverStats(view)), ...connectionLists(view, 'brief') }),
  },
  {
    name: 'system_properties',
    aliases: ['sysp'],
    isPrivate: true,
    isAlwaysAnswered: true,
    run: systemProperties,
  },
  { name: 'voting_view', run: votingView },
  { name: 'watches', aliases: ['wchc'], isPrivate: true, run: watches },
  { name: 'watches_by_path', aliases: ['wchp'], isPrivate: true, run: watchesByPath },
  {
    name: 'watch_summary',
    aliases: ['wchs'],
    run(view) {
      const { watcherCount, pathCount, size } = view.peer.db.watches.data
      return { num_connections: watcherCount, num_paths: pathCount, num_total_watches: size }
    },
  },
  { name: 'zabstate', isAlwaysAnswered: true, run: zabState },
]

const byName = new Map(
  commands.flatMap((command) =>
    [command.name, ...(command.aliases ?? [])].map((name) => [name, command] as const),
  ),
)

export function findCommand(name: string): Command | undefined {
  return byName.get(name)
}

function isReadOnly({ peer }: ServerView): Answer {
  return { read_only: peer.isReadOnly }
}

function configuration({ config, clientPort, directories }: ServerView): Answer {
  return {
    client_port: config.clientPort === undefined ? -1 : clientPort,
    data_dir: directories.data,
    data_log_dir: directories.log,
    tick_time: config.tickMs,
    max_client_cnxns: config.maxClientCnxns,
    min_session_timeout: config.sessionTimeoutMsMin,
    max_session_timeout: config.sessionTimeoutMsMax,
    server_id: config.ensemble?.serverId ?? 0,
    client_port_listen_backlog: config.clientPortListenBacklog,
  }
}

/** Moves leadership to another server; this one keeps running. */
async function handOver(view: ServerView): Promise<Outcome> {
  const outcome = await view.handOver()
  return 'leader' in outcome ? outcome : new Refused(503, outcome.problem)
}

function digests(view: ServerView): Answer {
  return {
    digests: view.peer.db.digests.log.map(({ zxid, digest }) => ({
      zxid,
      digest: BigInt.asIntN(64, digest),
      digest_version: 2,
    })),
  }
}

function setTraceMask(view: ServerView, { parameters }: Call): Answer {
  const given = parameters.get('traceMask')
  const wants = 'setTraceMask requires long traceMask argument'
  if (given === null) return { error: wants }
  if (!/^[+-]?\d+$/.test(given)) return { error: `${wants}, got ${given}` }
  view.traceMask = BigInt.asIntN(64, BigInt(given))
  return { tracemask: view.traceMask }
}

function systemProperties({ config }: ServerView): Answer {
  const names = [...config.systemProperties.keys()].toSorted()
  const shown = (name: string): string =>
    isSecret(name) ? '***' : (config.systemProperties.get(name) ?? '')
  return Object.fromEntries(names.map((name) => [name, shown(name)]))
}
