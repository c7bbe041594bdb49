/**
 * Makes `instanceof` work between copies of this package. A program may have two, each with its own
 * classes, if npm installs different versions.
 */

/** The class name, on each prototype. The symbol is the same in every copy. */
const kind = Symbol.for('zabra.errorKind')

type ErrorClass = abstract new (...args: never[]) => Error

/**
 * Marks an error class with its name, so that `instanceof` recognizes objects of the class with
 * that name in another copy. An unmarked subclass works as usual.
 */
export function markErrorKind(errorClass: ErrorClass, name: string): void {
  Object.defineProperty(errorClass.prototype, kind, { value: name })
  Object.defineProperty(errorClass, Symbol.hasInstance, { value: isInstance })
}

function isInstance(this: ErrorClass, value: unknown): boolean {
  if (Function.prototype[Symbol.hasInstance].call(this, value)) return true
  const wanted = kindOf(this.prototype)
  if (wanted === undefined || typeof value !== 'object' || value === null) return false
  for (let at: unknown = Object.getPrototypeOf(value); isObject(at); at = Object.getPrototypeOf(at))
    if (kindOf(at) === wanted) return true
  return false
}

function kindOf(prototype: object): unknown {
  return Object.getOwnPropertyDescriptor(prototype, kind)?.value
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Whether the error is of exactly this class, in any copy, and not of a subclass. */
export function isExactly<E extends Error>(
  error: unknown,
  errorClass: new (...args: never[]) => E,
): error is E {
  if (!(error instanceof errorClass)) return false
  const own = Object.getPrototypeOf(error) as object
  return own === errorClass.prototype || kindOf(own) === kindOf(errorClass.prototype)
}
