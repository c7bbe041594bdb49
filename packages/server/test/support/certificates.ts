import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { sign, type KeyObject } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import {
  ecdsaWithSha256,
  issueCertificate,
  type Identity,
  type Subject,
} from '../../src/tls/issue/certificate.ts'
import { bitString, integer, sequence, time } from '../../src/tls/issue/der-writer.ts'
import { subjectBytes } from '../../src/tls/distinguished-name.ts'

const loopback = '127.0.0.1'

/** A certificate authority with a folder for the files that it issues. */
export class Authority {
  readonly folder: string
  readonly identity: Identity
  private readonly ownsFolder: boolean

  constructor(name = 'Test CA', folder?: string) {
    this.ownsFolder = folder === undefined
    this.folder = folder ?? mkdtempSync(join(tmpdir(), 'zabra-tls-'))
    mkdirSync(this.folder, { recursive: true })
    this.identity = issueCertificate({
      subject: [
        ['O', 'zabra'],
        ['CN', name],
      ],
      days: 30,
    })
    this.write('ca.pem', this.pem)
  }

  get pem(): string {
    return this.identity.certificate.toString()
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  write(name: string, content: string | Uint8Array): string {
    writeFileSync(this.path(name), content)
    return this.path(name)
  }

  issue(
    name: string,
    options: { hosts?: readonly string[]; days?: number; from?: Date; subject?: Subject } = {},
  ): Identity {
    const {
      subject = [
        ['O', 'zabra'],
        ['CN', name],
      ],
      hosts = [loopback, 'localhost'],
      days = 20,
    } = options
    const issuer = this.identity
    const { from } = options
    return issueCertificate({
      subject,
      hosts,
      days,
      issuer,
      ...(from === undefined ? {} : { from }),
    })
  }

  /** A file with the key, the certificate, and that of the authority. */
  issueFile(name: string, options: Parameters<Authority['issue']>[1] = {}): string {
    return this.write(`${name}.pem`, this.pemOf(this.issue(name, options)))
  }

  pemOf({ key, certificate }: Identity): string {
    return `${keyPem(key)}${certificate.toString()}${this.pem}`
  }

  /** Connection options of a client; without a certificate if `identity` is undefined. */
  client(identity?: Identity): ConnectionOptions {
    const own =
      identity === undefined
        ? {}
        : {
            cert: identity.certificate.toString(),
            key: keyPem(identity.key),
          }
    return { ca: this.pem, ...own }
  }

  /** Settings of a server that has a certificate of this authority, and trusts the authority. */
  settings(prefix: string, keyFile = this.path('server.pem')): Record<string, string> {
    return {
      [`${prefix}keyStore.location`]: keyFile,
      [`${prefix}trustStore.location`]: this.path('ca.pem'),
    }
  }

  /** A revocation list as PEM. */
  revoke(...revoked: readonly Identity[]): string {
    return this.revocationList(revoked, new Date(Date.now() + 86_400_000))
  }

  /** The same, valid until a certain time. */
  revocationList(revoked: readonly Identity[], until: Date): string {
    const now = new Date(Math.min(Date.now(), until.getTime()) - 60_000)
    const { certificate, key } = this.identity
    const entries = revoked.map((each) =>
      sequence(integer(Buffer.from(each.certificate.serialNumber, 'hex')), time(now)),
    )
    const body = sequence(
      integer(Buffer.from([1])),
      ecdsaWithSha256,
      subjectBytes(certificate.raw),
      time(now),
      time(until),
      ...(entries.length === 0 ? [] : [sequence(...entries)]),
    )
    const list = sequence(body, ecdsaWithSha256, bitString(sign('sha256', body, key)))
    const lines = list.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')
    return `-----BEGIN X509 CRL-----\n${lines}\n-----END X509 CRL-----\n`
  }

  dispose(): void {
    if (this.ownsFolder) rmSync(this.folder, { recursive: true, force: true })
  }
}

export function keyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}
