import type { AnyKey, ValueOf } from './key.ts'
import { access, limits, listening, nodes, sasl, sessions } from './keys/clients.ts'
import { admin } from './keys/admin.ts'
import { bounds, guards } from './keys/bounds.ts'
import { ensemble } from './keys/ensemble.ts'
import { history, retention, storage } from './keys/storage.ts'
import { adminTls, quorumTls, tls } from './keys/tls.ts'
import { unused } from './keys/unused.ts'

export { families } from './keys/ensemble.ts'

/** The chapters of docs/configuration.md. */
export const sections: readonly { title: string; keys: Readonly<Record<string, AnyKey>> }[] = [
  { title: 'Listening', keys: listening },
  { title: 'Sessions', keys: sessions },
  { title: 'Storage', keys: storage },
  { title: 'Retention', keys: retention },
  { title: 'History', keys: history },
  { title: 'Administration and metrics', keys: admin },
  { title: 'Nodes', keys: nodes },
  { title: 'Limits and throttling', keys: limits },
  { title: 'Limits of clients', keys: bounds },
  { title: 'Access', keys: { ...access, ...guards } },
  { title: 'SASL', keys: sasl },
  { title: 'TLS', keys: tls },
  { title: 'Ensembles', keys: ensemble },
  { title: 'TLS between servers', keys: quorumTls },
  { title: 'TLS for administrators', keys: adminTls },
  { title: 'Accepted, without effect', keys: unused },
]

/** Every key, by its name in zoo.cfg. */
export const keys = {
  ...listening,
  ...sessions,
  ...storage,
  ...retention,
  ...history,
  ...admin,
  ...nodes,
  ...limits,
  ...bounds,
  ...guards,
  ...access,
  ...sasl,
  ...tls,
  ...ensemble,
  ...quorumTls,
  ...adminTls,
  ...unused,
} as const

export type KeyName = keyof typeof keys
export type Values = { readonly [Name in KeyName]: ValueOf<(typeof keys)[Name]> }

export const keyNames: readonly KeyName[] = Object.keys(keys) as KeyName[]

export function isKeyName(name: string): name is KeyName {
  return Object.hasOwn(keys, name)
}

export function keyOf(name: KeyName): AnyKey {
  return keys[name]
}

/** System properties that set a key; the first is the main one. */
export function propertyNames(name: KeyName): readonly string[] {
  const { source, properties } = keyOf(name)
  if (properties !== undefined) return properties
  if (source === 'setting') return []
  return [source === 'bare' ? name : `zookeeper.${name}`]
}

/**
 * The environment variable of a key: `ZABRA_AUTOPURGE_PURGE_INTERVAL` for
 * `autopurge.purgeInterval`.
 */
export function environmentName(name: string): string {
  const snake = name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replace(/[^A-Za-z0-9]+/g, '_')
  return `ZABRA_${snake.toUpperCase()}`
}

/** The options of `zabra server` that set a key: `--port` to `clientPort`. */
export const flags: ReadonlyMap<string, KeyName> = new Map(
  keyNames.flatMap((name) => {
    const { flag } = keyOf(name)
    return flag === undefined ? [] : [[flag, name] as const]
  }),
)
