import { readdirSync, readFileSync } from 'node:fs'
import { nameText, subjectOf } from '../../../../packages/server/src/tls/distinguished-name.ts'
import { DerError, readDer } from '../../../../packages/server/src/tls/der.ts'
import { StoreError } from '../../../../packages/server/src/tls/stores/key-material.ts'
import { readRevocationList } from '../../../../packages/server/src/tls/revocation-lists.ts'
import { readStore } from '../../../../packages/server/src/tls/stores/read-store.ts'
import { mayRefuse, type Target } from '../target.ts'
import { repositoryRoot } from '../root.ts'

const folder = `${repositoryRoot}/packages/server/src/tls/stores/testdata`
const files = (ending: RegExp): Uint8Array[] =>
  readdirSync(folder)
    .filter((name) => ending.test(name))
    .map((name) => readFileSync(`${folder}/${name}`))

const read = (type: 'PEM' | 'PKCS12', bytes: Uint8Array): void =>
  mayRefuse([StoreError, DerError], () => {
    const { crls } = readStore(bytes, { type, password: 'secret-1', location: 'store' })
    for (const crl of crls) readRevocationList(crl)
  })

/** A revocation list of one certificate, from an authority that exists only for this. */
const someList = `-----BEGIN X509 CRL-----
MIHOMHYCAQEwCgYIKoZIzj0EAwIwIjEOMAwGA1UECgwFemFicmExEDAOBgNVBAMM
B1NlZWQgQ0EXDTI2MTExOTE4MjA1M1oXDTQwMDEwMTAwMDAwMFowIzAhAhBccCns
CtW/em7ivSM8BnbSFw0yNjExMTkxODIwNTNaMAoGCCqGSM49BAMCA0gAMEUCIGXi
0RQM7Yz4SRsfMIUl/TkmR8JYafH+7lqazQ6ZJSqlAiEAobZWXAXOgGydC5kK32Kt
5uelXhPMA2tlHj0ZuSLrV1Y=
-----END X509 CRL-----
`

export const binaryStores: Target = {
  name: 'binary-stores',
  seeds: () => files(/\.(p12|jks)$/),
  run: (input) => read('PKCS12', input),
}

export const pemStores: Target = {
  name: 'pem-stores',
  seeds: () => [...files(/\.pem$/), Buffer.from(someList)],
  run: (input) => read('PEM', input),
}

/** Subjects of certificates: identities for ACLs. */
export const names: Target = {
  name: 'names',
  seeds() {
    const certificates = files(/^(ca|server)\.pem$/).map((pem) =>
      Buffer.from(
        /-----BEGIN CERTIFICATE-----([^-]*)/.exec(Buffer.from(pem).toString())?.[1] ?? '',
        'base64',
      ),
    )
    const name = Buffer.from(
      '301e310e300c060355040a0c057a61627261310c300a06035504030c03616e6e',
      'hex',
    )
    return [...certificates, name]
  },
  run(input) {
    mayRefuse([DerError], () => void subjectOf(input))
    mayRefuse([DerError], () => void nameText(readDer(input)))
  },
}
