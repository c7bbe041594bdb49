import type { Property } from '@zabra/core'
import type { Diagnostics, Origin } from './diagnostics.ts'
import { parseJvmFlags } from './jvm-flags.ts'
import type { Family } from './key.ts'
import { environmentName, families, isKeyName, keyNames, keyOf, propertyNames } from './keys.ts'
import type { KeyName } from './keys.ts'
import { suggest } from './suggest.ts'

/** The text of a key and where it was written. */
export interface Given {
  readonly text: string
  readonly origin: Origin
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Values from the command line, by the name of the key: `{ clientPort: 0 }`. */
export type Overrides = { readonly [Name in KeyName]?: string | number | boolean | undefined }

/** All given values, after precedence was applied. */
export interface Sources {
  readonly given: ReadonlyMap<KeyName, Given>
  /** Keys of families (`server.1`), by full name. */
  readonly members: ReadonlyMap<string, Given>
  readonly systemProperties: ReadonlyMap<string, string>
}

export interface RawSources {
  readonly file: string | undefined
  readonly properties: readonly Property[]
  readonly env: Environment
  readonly overrides: Overrides
}

/**
 * Applies the precedence of sources for each key. From weak to strong: -D, file, environment,
 * command line; except that -D beats the file for properties that Apache's file cannot set.
 */
export function gather(raw: RawSources, report: Diagnostics): Sources {
  const gathering = new Gathering(report)
  gathering.fromJvmFlags(raw.env)
  gathering.fromFile(raw.file, raw.properties)
  gathering.fromEnvironment(raw.env)
  gathering.fromOverrides(raw.overrides)
  return gathering
}

export function familyOf(name: string): Family | undefined {
  return families.find(({ pattern }) => pattern.test(name))
}

const keyByProperty = new Map(
  keyNames.flatMap((name) => propertyNames(name).map((property) => [property, name] as const)),
)
const keyByEnvironmentName = new Map(keyNames.map((name) => [environmentName(name), name]))

class Gathering implements Sources {
  readonly given = new Map<KeyName, Given>()
  readonly members = new Map<string, Given>()
  readonly systemProperties = new Map<string, string>()
  readonly #report: Diagnostics
  readonly #fixed = new Set<KeyName>()

  constructor(report: Diagnostics) {
    this.#report = report
  }

  fromJvmFlags(env: Environment): void {
    const { properties, others } = parseJvmFlags(env)
    for (const { flag, variable } of others) {
      this.#report.notice({ file: variable }, `${flag} is for Java and has no effect here`)
    }
    for (const { name, value, variable } of properties) {
      this.systemProperties.set(name, value)
      const given = { text: value.trim(), origin: { file: variable, key: name } }
      const key = keyByProperty.get(name)
      if (key !== undefined) {
        this.given.set(key, given)
        if (keyOf(key).source === 'bare') this.#fixed.add(key)
      } else {
        this.#otherProperty(name, given)
      }
    }
  }

  fromFile(file: string | undefined, properties: readonly Property[]): void {
    const lines = new Map<string, number>()
    for (const { key, value, line } of properties) {
      const given = { text: value.trim(), origin: { file, line, key } }
      const earlier = lines.get(key)
      if (earlier !== undefined) {
        this.#report.warning(given.origin, `already set on line ${earlier}; this line counts`)
      }
      lines.set(key, line)
      this.#fileEntry(key, given)
    }
  }

  fromEnvironment(env: Environment): void {
    for (const [variable, value] of Object.entries(env)) {
      if (value === undefined || !variable.startsWith('ZABRA_')) continue
      const given = { text: value.trim(), origin: { file: 'environment', key: variable } }
      const key = keyByEnvironmentName.get(variable)
      const [, member] = /^ZABRA_SERVER_(\d+)$/.exec(variable) ?? []
      if (key !== undefined) this.#set(key, given)
      else if (member !== undefined) this.members.set(`server.${member}`, given)
      else this.#misspelt(given, variable, keyByEnvironmentName.keys())
    }
  }

  fromOverrides(overrides: Overrides): void {
    for (const [name, value] of Object.entries(overrides)) {
      if (value === undefined) continue
      const flag = isKeyName(name) ? keyOf(name).flag : undefined
      const given = { text: String(value), origin: { file: 'command line', key: flag ?? name } }
      if (isKeyName(name)) this.#set(name, given)
      else if (familyOf(name) !== undefined) this.#member(name, given)
      else this.#report.error(given.origin, `unknown key${didYouMean(name)}`)
    }
  }

  #fileEntry(name: string, given: Given): void {
    // Apache would set zookeeper.zookeeper.NAME, but the writer's intention is clear.
    const short = name.startsWith('zookeeper.') ? name.slice('zookeeper.'.length) : name
    const key = isKeyName(short) ? short : keyByProperty.get(name)
    const isMember = familyOf(short) !== undefined
    if (key !== undefined) {
      if (this.#fixed.has(key)) {
        this.#report.notice(given.origin, `-D${key} is given too, and wins over the file`)
      } else {
        this.#set(key, given)
      }
    } else if (isMember) {
      this.#member(short, given)
    } else {
      this.systemProperties.set(`zookeeper.${short}`, given.text)
      this.#unknown(short, given)
    }
  }

  #set(name: KeyName, given: Given): void {
    this.given.set(name, given)
    const [property] = propertyNames(name)
    if (property !== undefined) this.systemProperties.set(property, given.text)
  }

  #member(name: string, given: Given): void {
    this.members.set(name, given)
    if (familyOf(name)?.source === 'property') {
      this.systemProperties.set(`zookeeper.${name}`, given.text)
    }
  }

  #otherProperty(name: string, given: Given): void {
    if (!name.startsWith('zookeeper.')) return
    const short = name.slice('zookeeper.'.length)
    if (isKeyName(short)) {
      const message = 'has no effect as a system property; write it in the configuration file'
      this.#report.warning(given.origin, message)
    } else if (familyOf(short)?.source === 'property') {
      this.members.set(short, given)
    } else {
      this.#misspelt(given, name, keyByProperty.keys())
    }
  }

  #unknown(name: string, given: Given): void {
    const message = `unknown key, kept as the system property zookeeper.${name}${didYouMean(name)}`
    this.#report.warning(given.origin, message)
  }

  /** Other programs use such names too, so only a near miss is worth a warning. */
  #misspelt(given: Given, name: string, candidates: Iterable<string>): void {
    const meant = suggest(name, candidates)
    if (meant !== undefined) this.#report.warning(given.origin, `did you mean ${meant}?`)
  }
}

function didYouMean(name: string): string {
  const meant = suggest(name, keyNames)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}
