import { parseProperties } from '@zabra/core'
import { families, isKeyName, keyNames, keyOf, propertyNames } from './keys.ts'
import type { KeyName } from './keys.ts'

/** A line of a zoo.cfg, and its effect. */
export interface ExplainedLine {
  readonly line: number
  readonly key: string
  readonly value: string
  /** The meaning of the key; undefined for an unknown key. */
  readonly meaning: string | undefined
  /** The default, as it would be written. */
  readonly fallback: string | undefined
  /** How it differs from Apache ZooKeeper. */
  readonly differs: string | undefined
  /** Why it has no effect here. */
  readonly unused: string | undefined
  /** Why an operator should think twice. */
  readonly danger: string | undefined
}

/** Explains every line of a configuration file that sets a key. */
export function explainConfig(text: string): ExplainedLine[] {
  return parseProperties(text).properties.map(({ key: name, value, line }) => {
    const key = keyNamed(name)
    const written = value.trim()
    const common = { line, key: name, value: written, danger: dangerOf(name, written) }
    if (key !== undefined) {
      const { docs, departs, use, notice, default: given, type, defaultText } = keyOf(key)
      return {
        ...common,
        meaning: docs,
        fallback: defaultText ?? (given === undefined ? undefined : type.format(given)),
        differs: departs,
        unused:
          use === 'unused'
            ? notice
            : use === 'planned'
              ? 'zabra does not offer this yet'
              : undefined,
      }
    }
    const family = families.find(({ pattern }) => pattern.test(withoutPrefix(name)))
    return {
      ...common,
      meaning: family?.docs,
      fallback: undefined,
      differs: undefined,
      unused: family?.use === 'planned' ? 'zabra does not offer this yet' : family?.notice,
    }
  })
}

const keyByProperty = new Map(
  keyNames.flatMap((name) => propertyNames(name).map((property) => [property, name] as const)),
)

function keyNamed(name: string): KeyName | undefined {
  const short = withoutPrefix(name)
  return isKeyName(short) ? short : keyByProperty.get(name)
}

function withoutPrefix(name: string): string {
  return name.startsWith('zookeeper.') ? name.slice('zookeeper.'.length) : name
}

interface Danger {
  readonly key: string
  readonly when: (value: string) => boolean
  readonly because: string
}

const isTrue = (value: string): boolean => /^(true|yes)$/i.test(value)
const isFalse = (value: string): boolean => /^(false|no)$/i.test(value)
const isOpen = (value: string): boolean => /^(0\.0\.0\.0|::|\*)$/.test(value)

/** Settings that have cost people data, or gave strangers access. */
const dangers: readonly Danger[] = [
  {
    key: 'forceSync',
    when: isFalse,
    because: 'a write is acknowledged before it is on disk: a power failure loses it',
  },
  {
    key: 'skipACL',
    when: isTrue,
    because: 'every client may read and change every node',
  },
  {
    key: 'DigestAuthenticationProvider.superDigest',
    when: (value) => value !== '',
    because: 'this password opens everything: keep the file readable for the server only',
  },
  {
    key: '4lw.commands.whitelist',
    when: (value) => value.includes('*'),
    because: 'any client that reaches the port can list sessions and reset statistics',
  },
  {
    key: 'admin.serverAddress',
    when: isOpen,
    because: 'the admin port is reachable from every network of this machine',
  },
  {
    key: 'recovery.acceptDamage',
    when: isTrue,
    because: 'a server with damaged files starts without their data',
  },
  {
    key: 'digest.enabled',
    when: isFalse,
    because: 'servers with different trees are not detected',
  },
  {
    key: 'snapshot.trust.empty',
    when: isTrue,
    because: 'a server that lost its snapshots starts empty: switch it off after the upgrade',
  },
  {
    key: 'unsafe.skipTxnOnError',
    when: isTrue,
    because: 'damaged transactions are skipped',
  },
  {
    key: 'initLimit',
    when: (value) => Number(value) === 1,
    because: 'a follower with a large tree may not join in so short a time',
  },
  {
    key: 'autopurge.purgeInterval',
    when: (value) => value === '0',
    because: 'old logs and snapshots are never removed, and the disk fills up',
  },
  {
    key: 'jute.maxbuffer',
    when: (value) => Number(value) > 16 * 1024 * 1024,
    because: 'large values delay every other request; set it alike on all servers and clients',
  },
]

function dangerOf(name: string, value: string): string | undefined {
  const short = withoutPrefix(name)
  return dangers.find(({ key, when }) => key === short && when(value))?.because
}
