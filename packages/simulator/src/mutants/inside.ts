/** Access to the private parts of a running server; only mutants use this. */
type Method = (...args: never[]) => unknown

/** A private part of an object. */
export function inside(owner: object, ...names: readonly string[]): Record<string, unknown> {
  let part: object = owner
  for (const name of names) {
    const next: unknown = Reflect.get(part, name)
    if (typeof next !== 'object' || next === null) throw new Error(`there is no ${names.join('.')}`)
    part = next
  }
  return part as Record<string, unknown>
}

/** Replaces a method; the new one gets the old one, bound. */
export function replace<Args extends readonly unknown[], Result>(
  owner: object,
  name: string,
  make: (original: (...args: Args) => Result) => (...args: Args) => Result,
): void {
  const original: unknown = Reflect.get(owner, name)
  if (typeof original !== 'function') throw new Error(`there is no method ${name}`)
  const bound = (original as Method).bind(owner) as unknown as (...args: Args) => Result
  Reflect.set(owner, name, make(bound))
}
