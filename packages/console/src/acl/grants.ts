/** The effects of an ACL on a caller. */
export const letters = ['r', 'w', 'c', 'd', 'a'] as const
export type Letter = (typeof letters)[number]

interface AclEntry {
  readonly perms: string
  readonly scheme: string
  readonly id: string
}

interface Identity {
  readonly scheme: string
  readonly id: string
}

/** The permissions of a caller. Networks (`ip` with a mask) are not evaluated. */
export function granted(
  acl: readonly AclEntry[],
  identities: readonly Identity[],
): ReadonlySet<Letter> {
  const matching = acl.filter((entry) => identities.some((each) => matches(entry, each)))
  const open = acl.filter(({ scheme }) => scheme === 'world')
  const own = acl.filter(({ scheme }) => scheme === 'auth')
  const perms = [...matching, ...open, ...own].map((entry) => entry.perms).join('')
  return new Set(letters.filter((letter) => perms.includes(letter)))
}

function matches(entry: AclEntry, { scheme, id }: Identity): boolean {
  if (entry.scheme !== scheme) return false
  // The API names users without the hashes of their passwords.
  return scheme === 'digest' ? userOf(entry.id) === userOf(id) : entry.id === id
}

export function userOf(id: string): string {
  return id.split(':')[0] ?? ''
}

/** Warnings about an ACL before it is set. */
export function warningsAbout(
  acl: readonly AclEntry[],
  before: readonly AclEntry[],
  identities: readonly Identity[],
): readonly string[] {
  const warnings: string[] = []
  if (acl.some(({ scheme, id }) => id.trim() === '' && scheme !== 'auth')) {
    warnings.push('An entry names nobody.')
  }
  if (!acl.some(({ perms }) => perms.includes('a'))) {
    warnings.push('Nobody but a super user could change this access again.')
  }
  const [had, has] = [granted(before, identities), granted(acl, identities)]
  if (had.has('r') && !has.has('r')) warnings.push('You could not read the data any more.')
  if (had.has('a') && !has.has('a')) warnings.push('You could not change this access any more.')
  return warnings
}
