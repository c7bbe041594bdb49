import { property, setting, type AnyKey } from '../key.ts'
import { address, bool, caseless, choice, list, ms, path, port, text } from '../value-types.ts'

const validPort = { min: 0, max: 65_535, outside: 'error' } as const
const stores = 'JKS, PEM or PKCS12.'

type Prefixed<Prefix extends string, Keys> = {
  readonly [Name in keyof Keys & string as `${Prefix}${Name}`]: Keys[Name]
}

function prefixed<const Prefix extends string, Keys extends Readonly<Record<string, AnyKey>>>(
  prefix: Prefix,
  keys: Keys,
): Prefixed<Prefix, Keys> {
  const entries = Object.entries(keys).map(([name, key]) => [`${prefix}${name}`, key])
  return Object.fromEntries(entries) as Prefixed<Prefix, Keys>
}

/** The keys that every use of TLS has: which certificates, and how they are spoken with. */
function commonKeys(others = '') {
  return {
    'keyStore.location': property(
      path,
      undefined,
      `This server's private key and its certificate, with those of its issuers behind it.`,
      { defaultText: `none${others}` },
    ),
    'keyStore.password': property(text, '', 'Password of the key store and of its key.'),
    'keyStore.passwordPath': property(path, undefined, 'File that holds that password.', {
      defaultText: 'none',
    }),
    'keyStore.type': property(text, undefined, stores, {
      defaultText: 'by file name: .jks, .pem, .p12, .pfx',
      departs: 'BCFKS cannot be read.',
    }),
    'trustStore.location': property(
      path,
      undefined,
      'Certificates that issue the certificates of the others.',
      {
        defaultText: `none${others}`,
        departs: 'Needed unless clientAuth is none. Apache then trusts what Java comes with.',
      },
    ),
    'trustStore.password': property(text, '', 'Password of the trust store.'),
    'trustStore.passwordPath': property(path, undefined, 'File that holds that password.', {
      defaultText: 'none',
    }),
    'trustStore.type': property(text, undefined, stores, {
      defaultText: 'by file name: .jks, .pem, .p12, .pfx',
      departs: 'BCFKS cannot be read.',
    }),
    protocol: property(
      text,
      undefined,
      'The latest TLS version in use; enabledProtocols goes first.',
      {
        defaultText: 'TLSv1.3',
        departs: 'TLSv1.2 by default in ZooKeeper 3.9.6.',
      },
    ),
    enabledProtocols: property(list, [], 'TLS versions in use: TLSv1.2, TLSv1.3.', {
      defaultText: 'both, up to protocol',
    }),
    ciphersuites: property(list, [], "Cipher suites in use, by Java's names or OpenSSL's.", {
      defaultText: 'those of Node.js',
    }),
    crl: property(
      bool,
      false,
      'Certificates are checked against revocation lists; one is needed for every issuer, and must not be out of date.',
      { departs: 'Lists are read from crl.location and the trust store; none is downloaded.' },
    ),
    'crl.location': property(path, undefined, 'File with revocation lists in PEM form.', {
      defaultText: 'none: those in a trust store of type PEM',
      departs: "zabra's own.",
    }),
    ocsp: property(
      bool,
      false,
      'Revocation is asked of the issuer. Not possible here: true is an error.',
    ),
  } as const
}

/** The keys of TLS towards clients, or between servers. */
function sslKeys(checksClientNames: boolean) {
  return {
    ...commonKeys(),
    clientAuth: property(
      caseless(choice(['none', 'want', 'need'])),
      'need',
      'Whether a connecting side must (need) or may (want) present a certificate. A certificate that is presented must be valid.',
      { strict: true },
    ),
    hostnameVerification: property(
      bool,
      true,
      'The certificate of a server must name the host that was connected to; false switches clientHostnameVerification off as well.',
    ),
    clientHostnameVerification: property(
      bool,
      checksClientNames,
      'The certificate of a connecting side must name its address.',
      checksClientNames
        ? { departs: 'The host of any member will do: no name is looked up for the address.' }
        : {},
    ),
    allowReverseDnsLookup: property(
      bool,
      false,
      'For clientHostnameVerification the name that DNS has for an address counts as well.',
    ),
    handshakeDetectionTimeoutMillis: property(
      ms,
      5000,
      'How long a port for both waits for the first byte before it takes a connection as a plain one; a TLS handshake may take twice as long.',
      { range: { min: 1, outside: 'default' } },
    ),
    'context.supplier.class': property(text, undefined, 'Java class that makes TLS contexts.', {
      use: 'unused',
      notice: 'Java classes cannot be loaded',
    }),
  } as const
}

export const tls = {
  secureClientPort: setting(port, undefined, 'Port for clients that speak TLS.', {
    defaultText: 'none',
    range: validPort,
  }),
  secureClientPortAddress: setting(address, undefined, 'Address the secure port is bound to.', {
    defaultText: 'every address',
  }),
  'client.portUnification': property(bool, false, 'TLS and plain clients share the client port.'),
  'client.certReload': property(
    bool,
    true,
    'Key and trust store are read again when they change. What cannot be read leaves those before in use.',
    { departs: 'false by default in ZooKeeper.' },
  ),
  ...prefixed('ssl.', sslKeys(false)),
  'ssl.authProvider': property(text, 'x509', 'Scheme that checks the certificates of clients.', {
    use: 'unused',
    notice: 'it is always x509',
  }),
  'X509AuthenticationProvider.superUser': property(
    text,
    undefined,
    'Subject of a certificate with the rights of the super user, as Java writes it: `CN=admin,O=Example`.',
    { defaultText: 'none' },
  ),
  'fips-mode': property(
    bool,
    undefined,
    'true forbids DIGEST-MD5. For a Node.js that uses approved algorithms alone, start it with --force-fips.',
    {
      defaultText: 'not set',
      departs: 'true by default in ZooKeeper 3.9, whose servers then refuse DIGEST-MD5.',
    },
  ),
} as const

export const quorumTls = {
  sslQuorum: setting(bool, false, 'Servers speak TLS to each other.'),
  portUnification: setting(
    bool,
    false,
    'Ports for other servers take TLS and plain connections, so that an ensemble can change over one server at a time.',
  ),
  sslQuorumReloadCertFiles: setting(
    bool,
    true,
    'The stores of ssl.quorum are read again when they change.',
    { departs: 'false by default in ZooKeeper.' },
  ),
  ...prefixed('ssl.quorum.', sslKeys(true)),
} as const

export const adminTls = {
  ...prefixed('ssl.admin.', commonKeys(': those of ssl.quorum')),
} as const
