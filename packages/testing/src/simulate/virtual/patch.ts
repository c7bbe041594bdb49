/** Replaced properties, which can be restored. */
export class Patches {
  private readonly undo: (() => void)[] = []

  /** Replaces a property by the result of `make`. Properties of a function are kept. */
  replace<T>(target: object, key: PropertyKey, make: (original: T) => unknown): void {
    const own = Object.getOwnPropertyDescriptor(target, key)
    const original: unknown = Reflect.get(target, key)
    const replacement = make(original as T)
    if (typeof original === 'function' && typeof replacement === 'function')
      adopt(replacement, original)
    Object.defineProperty(target, key, {
      value: replacement,
      configurable: true,
      enumerable: own?.enumerable ?? false,
      writable: true,
    })
    this.undo.push(() => {
      // Other code has replaced it in the meantime, and keeps it.
      if (Reflect.get(target, key) !== replacement) return
      if (own === undefined) Reflect.deleteProperty(target, key)
      else Object.defineProperty(target, key, own)
    })
  }

  undoAll(): void {
    for (const undo of this.undo.splice(0).toReversed()) undo()
  }
}

function adopt(replacement: object, original: object): void {
  for (const key of Reflect.ownKeys(original)) {
    const descriptor = Object.getOwnPropertyDescriptor(original, key)
    if (descriptor === undefined || key === 'prototype') continue
    const has = Object.getOwnPropertyDescriptor(replacement, key)
    if (has === undefined || (has.configurable === true && (key === 'name' || key === 'length')))
      Object.defineProperty(replacement, key, { ...descriptor, configurable: true })
  }
}
