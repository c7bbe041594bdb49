import type { Values } from './keys.ts'
import type { Sources } from './sources.ts'

export type TlsPrefix = 'ssl.' | 'ssl.quorum.' | 'ssl.admin.'

/** The location of a store, and how to open it. */
export interface StoreSettings {
  readonly location: string | undefined
  readonly password: string
  readonly passwordPath: string | undefined
  readonly type: string | undefined
}

/** The TLS settings for one kind of connection. */
export interface TlsSettings {
  /** The prefix of the keys, for messages. */
  readonly prefix: TlsPrefix
  readonly keyStore: StoreSettings
  readonly trustStore: StoreSettings
  /** The latest version to use; undefined: no limit. */
  readonly protocol: string | undefined
  /** Empty: those up to `protocol`. */
  readonly protocols: readonly string[]
  /** Empty: those of Node.js. */
  readonly ciphers: readonly string[]
  readonly clientAuth: 'none' | 'want' | 'need'
  readonly hostnameVerification: boolean
  readonly clientHostnameVerification: boolean
  readonly allowReverseDnsLookup: boolean
  readonly crl: boolean
  readonly crlLocation: string | undefined
  readonly detectionTimeoutMs: number
}

export function tlsSettings(values: Values, prefix: 'ssl.' | 'ssl.quorum.'): TlsSettings {
  return {
    ...commonSettings(values, prefix),
    clientAuth: values[`${prefix}clientAuth`],
    hostnameVerification: values[`${prefix}hostnameVerification`],
    clientHostnameVerification:
      values[`${prefix}hostnameVerification`] && values[`${prefix}clientHostnameVerification`],
    allowReverseDnsLookup: values[`${prefix}allowReverseDnsLookup`],
    detectionTimeoutMs: values[`${prefix}handshakeDetectionTimeoutMillis`],
  }
}

/**
 * The admin port uses the certificates for servers, as in Apache, unless it has its own key store.
 */
export function adminTlsSettings(values: Values, sources: Pick<Sources, 'given'>): TlsSettings {
  return {
    ...commonSettings(values, adminTlsPrefix(sources)),
    // Separate keys decide whether client certificates are needed.
    clientAuth: values['admin.needClientAuth']
      ? 'need'
      : values['admin.wantClientAuth']
        ? 'want'
        : 'none',
    hostnameVerification: false,
    clientHostnameVerification: false,
    allowReverseDnsLookup: false,
    detectionTimeoutMs: values['ssl.quorum.handshakeDetectionTimeoutMillis'],
  }
}

type Common =
  | 'prefix'
  | 'keyStore'
  | 'trustStore'
  | 'protocol'
  | 'protocols'
  | 'ciphers'
  | 'crl'
  | 'crlLocation'

function commonSettings(values: Values, prefix: TlsPrefix): Pick<TlsSettings, Common> {
  return {
    prefix,
    keyStore: store(values, `${prefix}keyStore`),
    trustStore: store(values, `${prefix}trustStore`),
    protocol: values[`${prefix}protocol`],
    protocols: values[`${prefix}enabledProtocols`],
    ciphers: values[`${prefix}ciphersuites`],
    crl: values[`${prefix}crl`],
    crlLocation: values[`${prefix}crl.location`],
  }
}

function store(values: Values, key: `${TlsPrefix}${'keyStore' | 'trustStore'}`): StoreSettings {
  return {
    location: values[`${key}.location`],
    password: values[`${key}.password`],
    passwordPath: values[`${key}.passwordPath`],
    type: values[`${key}.type`],
  }
}

/** The prefix of the keys for the certificates of the admin port. */
export function adminTlsPrefix({ given }: Pick<Sources, 'given'>): TlsPrefix {
  return given.has('ssl.admin.keyStore.location') ? 'ssl.admin.' : 'ssl.quorum.'
}
