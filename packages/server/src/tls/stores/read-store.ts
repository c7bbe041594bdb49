import { isJks, readJks } from './jks.ts'
import { StoreError, type Store } from './key-material.ts'
import { readPem } from './pem.ts'
import { readPkcs12 } from './pkcs12.ts'

const storeTypes = ['JKS', 'PEM', 'PKCS12'] as const
export type StoreType = (typeof storeTypes)[number]

const types: Readonly<Record<string, StoreType>> = {
  '.jks': 'JKS',
  '.pem': 'PEM',
  '.p12': 'PKCS12',
  '.pfx': 'PKCS12',
}

/** The configured type, or the one in the file name. */
export function storeTypeOf(location: string, type: string | undefined): StoreType {
  if (type !== undefined && type !== '') {
    const known = storeTypes.find((each) => each === type.toUpperCase())
    if (known !== undefined) return known
    const because =
      type.toUpperCase() === 'BCFKS'
        ? 'is the type of a Java library and is not read here'
        : 'is no type of a store'
    throw new StoreError(`${type} ${because}; use one of ${storeTypes.join(', ')}`)
  }
  const [ending = ''] = /\.[^./]+$/.exec(location) ?? []
  const found = types[ending.toLowerCase()]
  if (found !== undefined) return found
  if (ending.toLowerCase() === '.bcfks') return storeTypeOf(location, 'BCFKS')
  throw new StoreError(
    `its name ends in none of ${Object.keys(types).join(', ')}, so its type must be configured`,
  )
}

/** Reads a key store or trust store. */
export function readStore(
  bytes: Uint8Array,
  options: { readonly type: StoreType; readonly password: string; readonly location: string },
): Store {
  const { type, password, location } = options
  if (type === 'PEM') return readPem(Buffer.from(bytes).toString('latin1'), password)
  // Java, too, looks at the content: since version 9 its JKS files are often PKCS12.
  return isJks(bytes) ? readJks(bytes, password, location) : readPkcs12(bytes, password, location)
}
