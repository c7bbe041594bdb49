/** Recognizes znodes of well-known programs by path and data. */
import { serverNowMs } from './clock.ts'
import { lastingText } from './format.ts'

export interface Known {
  /** A short description. */
  readonly title: string
  readonly facts: readonly (readonly [name: string, value: string])[]
}

type Fields = Readonly<Record<string, unknown>>
interface Format {
  readonly path: RegExp
  /** Undefined if the data is something else after all. */
  readonly known: (
    match: RegExpExecArray,
    fields: Fields | undefined,
    text: string,
  ) => Known | undefined
}

const formats: readonly Format[] = [
  // --- Apache Kafka, in the clusters that still use ZooKeeper ------------------------------------
  {
    path: /\/brokers\/ids\/(\d+)$/,
    known: ([, id], fields) =>
      fields && {
        title: `Kafka broker ${id}`,
        facts: facts([
          ['Listeners', listOf(fields['endpoints']) ?? hostOf(fields)],
          ['Rack', fields['rack']],
          ['Since', timeOf(fields['timestamp'])],
        ]),
      },
  },
  {
    path: /\/controller$/,
    known: (_, fields) =>
      fields && 'brokerid' in fields
        ? {
            title: `Kafka controller: broker ${textOfValue(fields['brokerid'])}`,
            facts: facts([
              ['Since', timeOf(fields['timestamp'])],
              ['KRaft epoch', positive(fields['kraftMetadataOffset']) && fields['kraftEpoch']],
            ]),
          }
        : undefined,
  },
  {
    path: /\/brokers\/topics\/([^/]+)$/,
    known([, topic], fields) {
      const partitions = fields?.['partitions']
      if (!isFields(partitions)) return undefined
      const all = Object.entries(partitions)
      return {
        title: `Kafka topic ${topic}`,
        facts: facts([
          ['Partitions', String(all.length)],
          [
            'Replicas',
            all
              .slice(0, 8)
              .map(([id, brokers]) => `${id}: ${listOf(brokers)}`)
              .join('; ') + (all.length > 8 ? `; ${all.length - 8} more` : ''),
          ],
          [
            'Moving',
            isFields(fields?.['adding_replicas']) &&
              Object.keys(fields['adding_replicas']).length > 0 &&
              'replicas are being added',
          ],
        ]),
      }
    },
  },
  {
    path: /\/brokers\/topics\/([^/]+)\/partitions\/(\d+)\/state$/,
    known: ([, topic, partition], fields) =>
      fields && 'leader' in fields
        ? {
            title: `Kafka partition ${partition} of ${topic}`,
            facts: facts([
              [
                'Leader',
                fields['leader'] === -1 ? 'none' : `broker ${textOfValue(fields['leader'])}`,
              ],
              ['In sync', listOf(fields['isr'])],
              ['Epoch', fields['leader_epoch']],
            ]),
          }
        : undefined,
  },
  {
    path: /\/consumers\/([^/]+)\/offsets\/([^/]+)\/(\d+)$/,
    known: ([, group, topic, partition], _, text) =>
      /^\d+$/.test(text)
        ? {
            title: `Kafka offset of ${group}`,
            facts: facts([
              ['Topic', `${topic}, partition ${partition}`],
              ['Offset', text],
            ]),
          }
        : undefined,
  },
  // --- Patroni ------------------------------------------------------------------------------------
  {
    path: /\/service\/([^/]+)\/leader$/,
    known: ([, scope], fields, text) =>
      fields === undefined && /^[\w.-]+$/.test(text)
        ? { title: `Leader of ${scope}, as Patroni writes it`, facts: facts([['Member', text]]) }
        : undefined,
  },
  {
    path: /\/([^/]+)\/members\/([^/]+)$/,
    known: ([, scope, member], fields) =>
      fields && ('conn_url' in fields || 'xlog_location' in fields)
        ? {
            title: `Patroni member ${member} of ${scope}`,
            facts: facts([
              ['Role', fields['role']],
              ['State', fields['state']],
              ['Database', fields['conn_url']],
              ['API', fields['api_url']],
              ['Timeline', fields['timeline']],
              ['Log position', fields['xlog_location']],
              ['Version', fields['version']],
              ['Waits for restart', fields['pending_restart']],
            ]),
          }
        : undefined,
  },
  {
    path: /\/([^/]+)\/failover$/,
    known: ([, scope], fields) =>
      fields && ('leader' in fields || 'candidate' in fields || 'member' in fields)
        ? {
            title: `Patroni failover of ${scope}`,
            facts: facts([
              ['From', fields['leader']],
              ['To', fields['candidate'] ?? fields['member']],
              ['At', fields['scheduled_at']],
            ]),
          }
        : undefined,
  },
  {
    path: /\/([^/]+)\/config$/,
    known: ([, scope], fields) =>
      fields && 'ttl' in fields && 'loop_wait' in fields
        ? {
            title: `Patroni configuration of ${scope}`,
            facts: facts([
              ['Leader key', `${textOfValue(fields['ttl'])} s`],
              ['Loop', `${textOfValue(fields['loop_wait'])} s`],
              ['Lag at most', fields['maximum_lag_on_failover']],
              ['Paused', fields['pause'] === true && 'yes'],
              ['Synchronous', fields['synchronous_mode'] === true && 'yes'],
            ]),
          }
        : undefined,
  },
  // --- Apache Curator -----------------------------------------------------------------------------
  {
    path: /\/([^/]+)\/([^/]+)$/,
    known: (_, fields) =>
      fields && 'serviceType' in fields && 'registrationTimeUTC' in fields
        ? {
            title: `Instance of the service ${textOfValue(fields['name'])}, as Curator registers it`,
            facts: facts([
              [
                'Address',
                hostOf({ host: fields['address'], port: fields['sslPort'] ?? fields['port'] }),
              ],
              ['Id', fields['id']],
              ['Type', fields['serviceType']],
              ['Since', timeOf(fields['registrationTimeUTC'])],
              ['Enabled', fields['enabled'] === false && 'no'],
            ]),
          }
        : undefined,
  },
  // --- ZooKeeper itself ---------------------------------------------------------------------------
  {
    path: /^\/zookeeper\/config$/,
    known(_, __, text) {
      const servers = Array.from(text.matchAll(/^server\.(\d+)=(.*)$/gm))
      const version = /^version=([0-9a-f]+)$/m.exec(text)?.[1]
      return servers.length === 0
        ? undefined
        : {
            title: 'Members of the ensemble',
            facts: facts([
              ['Version', version && `0x${version}`],
              ...servers.map(([, id, server]) => [`Server ${id}`, server] as const),
            ]),
          }
    },
  },
  {
    path: /^\/zookeeper\/quota(.*)\/zookeeper_(limits|stats)$/,
    known: ([, path, kind], _, text) => ({
      title: `${kind === 'limits' ? 'Quota' : 'What is used of the quota'} of ${path || '/'}`,
      facts: facts(
        Array.from(text.matchAll(/(\w+)=(-?\d+)/g), ([, name = '', value]) => [
          name,
          value === '-1' ? 'no limit' : value,
        ]),
      ),
    }),
  },
]

/** Describes a znode of a well-known program; undefined for others. */
export function knownFormat(path: string, text: string): Known | undefined {
  const fields = fieldsOf(text)
  for (const { path: pattern, known } of formats) {
    const match = pattern.exec(path)
    const found = match === null ? undefined : known(match, fields, text.trim())
    if (found !== undefined) return found
  }
  return undefined
}

function fieldsOf(text: string): Fields | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Without those that are not given. */
function facts(
  all: readonly (readonly [string, unknown])[],
): readonly (readonly [string, string])[] {
  return all.flatMap(([name, value]) =>
    value === undefined || value === null || value === false || value === ''
      ? []
      : [[name, textOfValue(value)] as const],
  )
}

function textOfValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

const positive = (value: unknown): boolean => typeof value === 'number' && value > 0

function listOf(value: unknown): string | undefined {
  return Array.isArray(value) ? value.map(textOfValue).join(', ') : undefined
}

function hostOf({ host, port }: Fields): string | undefined {
  if (typeof host !== 'string') return undefined
  return port === undefined || port === null ? host : `${host}:${textOfValue(port)}`
}

/** Milliseconds since 1970, as a number or as text. */
function timeOf(value: unknown): string | undefined {
  const ms = Number(value)
  if (value === null || value === undefined || !Number.isFinite(ms) || ms <= 0) return undefined
  const ago = lastingText(serverNowMs() - ms)
  return `${new Date(ms).toISOString().replace('T', ' ').slice(0, 19)} UTC, ${ago} ago`
}
