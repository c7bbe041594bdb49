import type { X509Certificate } from 'node:crypto'
import { derChildren, DerError, derTags, expectTag, readDer, type DerValue } from './der.ts'
import { nameText, subjectBytes } from './distinguished-name.ts'

/** A list of revoked certificates, as far as this server has to understand it. */
export interface RevocationList {
  readonly pem: string
  /** In the form that ACLs use. */
  readonly issuer: string
  /** From then on, all certificates of the issuer are refused; undefined if the list does not say. */
  readonly nextUpdate: Date | undefined
}

const timeTags = { utc: 0x17, generalized: 0x18 } as const

/** Reads a list in PEM form; throws a DerError. */
export function readRevocationList(pem: string): RevocationList {
  const der = Buffer.from(pem.replaceAll(/-----[^-]*-----/g, ''), 'base64')
  const [body] = derChildren(readDer(der), derTags.sequence)
  const fields = derChildren(body!, derTags.sequence)
  // Version 1 is not written.
  const [, issuer, , nextUpdate] = fields[0]?.tag === derTags.integer ? fields.slice(1) : fields
  return {
    pem,
    issuer: nameText(expectTag(issuer, derTags.sequence)),
    nextUpdate: nextUpdate && timeOf(nextUpdate),
  }
}

/** The trusted authorities that have no list, so that all their certificates are refused. */
export function issuersWithoutList(
  lists: readonly RevocationList[],
  trusted: readonly X509Certificate[],
): string[] {
  const issuers = new Set(lists.map(({ issuer }) => issuer))
  return trusted
    .filter(({ ca }) => ca)
    .map(({ raw }) => nameText(readDer(subjectBytes(raw))))
    .filter((subject) => !issuers.has(subject))
}

/** The lists that are out of date. */
export function outdatedLists(
  lists: readonly RevocationList[],
  nowMs: number,
): (RevocationList & { readonly nextUpdate: Date })[] {
  return lists.flatMap((list) => {
    const { nextUpdate } = list
    return nextUpdate !== undefined && nextUpdate.getTime() <= nowMs
      ? [{ ...list, nextUpdate }]
      : []
  })
}

/** UTCTime has a year of two digits; GeneralizedTime has four. Undefined for another value. */
function timeOf({ tag, content }: DerValue): Date | undefined {
  if (tag !== timeTags.utc && tag !== timeTags.generalized) return undefined
  const text = Buffer.from(content).toString('latin1')
  const [, year = '', month, day, hour, minute, second] =
    /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(text) ?? []
  const full = tag === timeTags.utc ? `${Number(year) < 50 ? '20' : '19'}${year}` : year
  const time = new Date(`${full}-${month}-${day}T${hour}:${minute}:${second}Z`)
  if (Number.isNaN(time.getTime())) throw new DerError('an invalid time')
  return time
}
