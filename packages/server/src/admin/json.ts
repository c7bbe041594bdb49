import { doubleText } from './java-text.ts'

/** Has a fraction even if it is whole: Java prints `0.0`. */
export class Double {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/** An object whose members are created while they are written: there may be a million of them. */
export class Members {
  readonly entries: Iterable<readonly [string, Json]>

  constructor(entries: Iterable<readonly [string, Json]>) {
    this.entries = entries
  }
}

/** The answer of a command. Session ids and zxids are bigints and are written as numbers. */
export type Json =
  | string
  | number
  | bigint
  | boolean
  | null
  | Double
  | Members
  | Iterable<Json>
  | { readonly [name: string]: Json }

/**
 * JSON in the layout of ZooKeeper's admin server, piece by piece: two spaces per level, ` : `
 * between name and value, lists on one line.
 */
export function* writeJson(json: Json, level = 0): IterableIterator<string> {
  if (json === null || typeof json !== 'object') {
    yield typeof json === 'string' ? JSON.stringify(json) : String(json)
  } else if (json instanceof Double) {
    yield doubleText(json.value)
  } else if (json instanceof Members) {
    yield* writeMembers(json.entries, level)
  } else if (isIterable(json)) {
    yield* writeList(json, level)
  } else {
    yield* writeMembers(Object.entries(json), level)
  }
}

function* writeMembers(
  entries: Iterable<readonly [string, Json]>,
  level: number,
): IterableIterator<string> {
  const indent = '  '.repeat(level)
  let isFirst = true
  for (const [name, value] of entries) {
    yield `${isFirst ? '{' : ','}\n${indent}  ${JSON.stringify(name)} : `
    yield* writeJson(value, level + 1)
    isFirst = false
  }
  yield isFirst ? '{ }' : `\n${indent}}`
}

function* writeList(items: Iterable<Json>, level: number): IterableIterator<string> {
  let isFirst = true
  for (const item of items) {
    yield isFirst ? '[ ' : ', '
    yield* writeJson(item, level)
    isFirst = false
  }
  yield isFirst ? '[ ]' : ' ]'
}

function isIterable(
  json: Iterable<Json> | { readonly [name: string]: Json },
): json is Iterable<Json> {
  return Symbol.iterator in json
}
