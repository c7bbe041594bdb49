const shownMax = 5

/** The first few problems, and how many more there are. */
export function blame(name: string, sentences: readonly string[]): string[] {
  const more = sentences.length - shownMax
  const shown = sentences.slice(0, shownMax)
  if (more > 0) shown.push(`and ${more} more`)
  return shown.map((text) => `${name}: ${text}`)
}
