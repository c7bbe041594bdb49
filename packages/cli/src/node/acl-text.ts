import { permissions, type Acl } from '@zabra/client'
import { UsageError } from '../framework/errors.ts'

const letters = [
  ['c', permissions.create],
  ['d', permissions.delete],
  ['r', permissions.read],
  ['w', permissions.write],
  ['a', permissions.admin],
] as const

/** `cdrwa`, or some of them. */
export function permissionLetters(perms: number): string {
  return letters
    .filter(([, bit]) => (perms & bit) !== 0)
    .map(([letter]) => letter)
    .join('')
}

/** The bits of a letter; undefined where it means nothing. */
export function permissionBit(letter: string): number | undefined {
  return letters.find(([known]) => known === letter)?.[1]
}

/** Each entry as `scheme:id:cdrwa`. */
export function aclTexts(acl: readonly Acl[]): string[] {
  return acl.map(({ perms, id }) => `${id.scheme}:${id.id}:${permissionLetters(perms)}`)
}

/** The other way; an id may contain colons. */
export function parseAclText(text: string): Acl {
  const first = text.indexOf(':')
  const last = text.lastIndexOf(':')
  if (first <= 0 || last === first)
    throw new UsageError(
      `an ACL is SCHEME:ID:PERMISSIONS, not '${text}'`,
      'for example world:anyone:r',
    )
  let perms = 0
  for (const letter of text.slice(last + 1)) {
    const bit = permissionBit(letter)
    if (bit === undefined)
      throw new UsageError(`'${letter}' in '${text}' is no permission`, 'c, d, r, w and a are')
    perms |= bit
  }
  return { perms, id: { scheme: text.slice(0, first), id: text.slice(first + 1, last) } }
}

/** `world:anyone:r,digest:ann:HASH=:cdrwa`. */
export function parseAclList(text: string): Acl[] {
  return text.split(',').map(parseAclText)
}

/** The order of entries does not matter. */
export function sameAcl(one: readonly Acl[], other: readonly Acl[]): boolean {
  const [left, right] = [aclTexts(one).toSorted(), aclTexts(other).toSorted()]
  return left.length === right.length && left.every((text, index) => text === right[index])
}
