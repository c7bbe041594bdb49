import { derChildren, derTags, expectTag, oidText, readDer, type DerValue } from './der.ts'

/** The attributes that RFC 2253 has short names for. Java writes all others as numbers and bytes. */
const keywords: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.9': 'STREET',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '0.9.2342.19200300.100.1.25': 'DC',
  '0.9.2342.19200300.100.1.1': 'UID',
}

/** UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString. */
const textTags: ReadonlySet<number> = new Set([0x0c, 0x13, 0x14, 0x16, 0x1b, 0x1e])
const escaped = ',=+<>#;"\\'
/** Field [0] of a certificate's body: its version, which old ones lack. */
const versionTag = derTags.context0

/** The subject of a certificate, exactly as Java's `getSubjectX500Principal().getName()` returns it. */
export function subjectOf(certificate: Uint8Array): string {
  return nameText(readDer(subjectBytes(certificate)))
}

/** The same name, as DER from the certificate. */
export function subjectBytes(certificate: Uint8Array): Uint8Array {
  const [body] = derChildren(readDer(certificate), derTags.sequence)
  const fields = derChildren(body!, derTags.sequence)
  const first = fields[0]?.tag === versionTag ? 1 : 0
  // Serial number, signature, issuer and validity come first.
  return expectTag(fields[first + 4], derTags.sequence).bytes
}

/** RFC 2253: the last part comes first. */
export function nameText(name: DerValue): string {
  const parts = derChildren(name).map((part) => derChildren(part, derTags.set).map(attributeText))
  return parts
    .toReversed()
    .map((attributes) => attributes.join('+'))
    .join(',')
}

function attributeText(attribute: DerValue): string {
  const [type, value] = derChildren(attribute, derTags.sequence)
  const oid = oidText(type)
  const keyword = keywords[oid]
  if (keyword === undefined || value === undefined || !textTags.has(value.tag)) {
    return `${keyword ?? oid}=#${Buffer.from(value?.bytes ?? []).toString('hex')}`
  }
  // Java decodes the bytes of every kind of text as UTF-8.
  return `${keyword}=${escapeText(Buffer.from(value.content).toString('utf8'))}`
}

function escapeText(text: string): string {
  const isBlank = (char: string): boolean => char === ' ' || char === '\r'
  const chars = Array.from(text, (char) => {
    if (char === '\0') return '\\00'
    return escaped.includes(char) ? `\\${char}` : char
  })
  const first = chars.findIndex((char) => !isBlank(char))
  const last = chars.findLastIndex((char) => !isBlank(char))
  // A value of spaces alone is escaped completely.
  const isOutside = (i: number): boolean => first < 0 || i < first || i > last
  return chars.map((char, i) => (isOutside(i) ? `\\${char}` : char)).join('')
}
