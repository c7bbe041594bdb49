import { signal, type ReadonlySignal } from '@preact/signals'

const max = 100

/** A list of texts in this browser, in the order of the texts. */
class StoredList {
  readonly items: ReadonlySignal<readonly string[]>
  private readonly key: string
  private readonly stored = signal<readonly string[]>([])

  constructor(key: string) {
    this.key = key
    this.items = this.stored
    this.load()
    // Another tab may change it.
    addEventListener('storage', (event) => {
      if (event.key === key) this.load()
    })
  }

  has(item: string): boolean {
    return this.items.value.includes(item)
  }

  toggle(item: string): void {
    const known = this.items.value
    const next = this.has(item)
      ? known.filter((each) => each !== item)
      : [...known, item].toSorted().slice(0, max)
    this.stored.value = next
    localStorage.setItem(this.key, JSON.stringify(next))
  }

  private load(): void {
    try {
      const found: unknown = JSON.parse(localStorage.getItem(this.key) ?? '[]')
      if (!Array.isArray(found)) return
      this.stored.value = found.filter((each) => typeof each === 'string')
    } catch {
      // The entry is not ours; the list stays empty.
    }
  }
}

/** Paths that the user marked. */
export const favorites = new StoredList('zabra.favorites')
/** Filters of the history, as queries. */
export const savedFilters = new StoredList('zabra.filters')
