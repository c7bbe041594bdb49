/** The subset of JSON Schema that the API needs to describe replies and check requests. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly format?: string
}

export const text: Schema = { type: 'string' }
export const integer: Schema = { type: 'integer' }
export const number: Schema = { type: 'number' }
export const boolean: Schema = { type: 'boolean' }

export function choice(...words: readonly string[]): Schema {
  return { type: 'string', enum: words }
}

export function array(items: Schema, maxItems?: number): Schema {
  return { type: 'array', items, ...(maxItems === undefined ? {} : { maxItems }) }
}

export function nullable(schema: Schema): Schema {
  const { type, enum: words } = schema
  return {
    ...schema,
    ...(typeof type === 'string' ? { type: [type, 'null'] } : {}),
    ...(words === undefined ? {} : { enum: [...words, null] }),
  }
}

/** An object with all of these members and no others. */
export function object(
  properties: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  return {
    type: 'object',
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
    additionalProperties: false,
  }
}

/** The problem with a value; undefined if it is valid. */
export function problemOf(schema: Schema, value: unknown, where = 'the body'): string | undefined {
  const { type, enum: words, pattern, minimum, maximum, maxItems, items } = schema
  if (type !== undefined && ![type].flat().some((each) => isOfType(each, value))) {
    return `${where} must be ${[type].flat().join(' or ')}`
  }
  if (words !== undefined && !words.includes(value)) return `${where} must be ${words.join(' or ')}`
  if (typeof value === 'string' && pattern !== undefined && !new RegExp(pattern).test(value)) {
    return `${where} is malformed`
  }
  if (typeof value === 'number') {
    if (minimum !== undefined && value < minimum) return `${where} must be at least ${minimum}`
    if (maximum !== undefined && value > maximum) return `${where} must be at most ${maximum}`
  }
  if (Array.isArray(value)) {
    if (maxItems !== undefined && value.length > maxItems) return `${where} has too many entries`
    if (items === undefined) return undefined
    return firstProblem(value.entries(), ([at, item]) => problemOf(items, item, `${where}[${at}]`))
  }
  return typeof value === 'object' && value !== null
    ? problemOfMembers(schema, value as Record<string, unknown>, where)
    : undefined
}

function problemOfMembers(
  { properties = {}, required = [], additionalProperties = true }: Schema,
  value: Readonly<Record<string, unknown>>,
  where: string,
): string | undefined {
  const name = where === 'the body' ? '' : `${where}.`
  const missing = required.find((key) => !Object.hasOwn(value, key))
  if (missing !== undefined) return `${name}${missing} is missing`
  return firstProblem(Object.entries(value), ([key, member]) => {
    const schema = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (schema !== undefined) return problemOf(schema, member, `${name}${key}`)
    return additionalProperties === false ? `${name}${key} is not known` : undefined
  })
}

function firstProblem<T>(
  values: Iterable<T>,
  problem: (value: T) => string | undefined,
): string | undefined {
  for (const value of values) {
    const found = problem(value)
    if (found !== undefined) return found
  }
  return undefined
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      return Number.isSafeInteger(value)
    default:
      return typeof value === type
  }
}
