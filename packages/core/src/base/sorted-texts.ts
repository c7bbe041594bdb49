const chunkMax = 512

/**
 * A sorted set of strings, stored in chunks: it finds the strings with a common prefix without
 * looking at the others, and a change moves the strings of one chunk only.
 */
export class SortedTexts {
  size = 0
  /** No chunk is empty; the list may be. */
  private readonly chunks: string[][] = []

  constructor(texts: Iterable<string> = []) {
    const all = [...new Set(texts)].toSorted(inOrder)
    for (let at = 0; at < all.length; at += chunkMax / 2) {
      this.chunks.push(all.slice(at, at + chunkMax / 2))
    }
    this.size = all.length
  }

  add(text: string): void {
    const { chunks } = this
    if (chunks.length === 0) chunks.push([])
    const index = Math.min(this.chunkOf(text), chunks.length - 1)
    const chunk = chunks[index]!
    const at = firstNotBefore(chunk, text)
    if (chunk[at] === text) return
    chunk.splice(at, 0, text)
    this.size++
    if (chunk.length > chunkMax) chunks.splice(index + 1, 0, chunk.splice(chunkMax / 2))
  }

  delete(text: string): void {
    const index = this.chunkOf(text)
    const chunk = this.chunks[index]
    if (chunk === undefined) return
    const at = firstNotBefore(chunk, text)
    if (chunk[at] !== text) return
    chunk.splice(at, 1)
    this.size--
    if (chunk.length === 0) this.chunks.splice(index, 1)
  }

  *startingWith(prefix: string): IterableIterator<string> {
    for (let index = this.chunkOf(prefix); index < this.chunks.length; index++) {
      const chunk = this.chunks[index]!
      for (let at = firstNotBefore(chunk, prefix); at < chunk.length; at++) {
        if (!chunk[at]!.startsWith(prefix)) return
        yield chunk[at]!
      }
    }
  }

  /** The index of the first chunk whose last string is this one or a later one. */
  private chunkOf(text: string): number {
    let [low, high] = [0, this.chunks.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.chunks[middle]!.at(-1)! < text) low = middle + 1
      else high = middle
    }
    return low
  }
}

function firstNotBefore(texts: readonly string[], text: string): number {
  let [low, high] = [0, texts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (texts[middle]! < text) low = middle + 1
    else high = middle
  }
  return low
}

/** Compares UTF-16 code units, as `<` does, so that strings with the same prefix are adjacent. */
function inOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
