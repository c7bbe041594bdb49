/** Paths that the user marked, in this browser. */
import { signal } from '@preact/signals'

const key = 'zabra.favorites'
const max = 100

function stored(): readonly string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    return Array.isArray(found) ? found.filter((each) => typeof each === 'string') : []
  } catch {
    return []
  }
}

export const favorites = signal<readonly string[]>(stored())

export function toggleFavorite(path: string): void {
  const known = favorites.value
  const next = known.includes(path)
    ? known.filter((each) => each !== path)
    : [...known, path].toSorted().slice(0, max)
  favorites.value = next
  localStorage.setItem(key, JSON.stringify(next))
}

// Another tab may have changed them.
addEventListener('storage', (event) => {
  if (event.key === key) favorites.value = stored()
})
