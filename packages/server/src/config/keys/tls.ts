import { property, setting, type AnyKey } from '../key.ts'
import { address, bool, caseless, choice, int, list, ms, path, port, text } from '../value-types.ts'

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

/** The keys of every use of TLS: certificates, protocols and ciphers. */
function commonKeys(others = '') {
  return {
    'keyStore.location': property(
      path,
      undefined,
      `This server's private key and certificate, followed by those of its issuers.`,
      { defaultText: `none${others}` },
    ),
    'keyStore.password': property(text, '', 'Password of the key store and of its key.'),
    'keyStore.passwordPath': property(path, undefined, 'File with that password.', {
      defaultText: 'none',
    }),
    'keyStore.type': property(text, undefined, stores, {
      defaultText: 'by file name: .jks, .pem, .p12, .pfx',
      departs: 'BCFKS cannot be read.',
    }),
    'trustStore.location': property(
      path,
      undefined,
      "Certificates of the authorities that issue the other side's certificates.",
      {
        defaultText: `none${others}`,
        departs:
          "Needed unless clientAuth is none. Apache falls back to Java's default authorities.",
      },
    ),
    'trustStore.password': property(text, '', 'Password of the trust store.'),
    'trustStore.passwordPath': property(path, undefined, 'File with that password.', {
      defaultText: 'none',
    }),
    'trustStore.type': property(text, undefined, stores, {
      defaultText: 'by file name: .jks, .pem, .p12, .pfx',
      departs: 'BCFKS cannot be read.',
    }),
    protocol: property(
      text,
      undefined,
      'The newest TLS version to use; enabledProtocols takes precedence.',
      {
        defaultText: 'TLSv1.3',
        departs: 'TLSv1.2 by default in ZooKeeper 3.9.6.',
      },
    ),
    enabledProtocols: property(list, [], 'TLS versions to use: TLSv1.2, TLSv1.3.', {
      defaultText: 'both, up to protocol',
    }),
    ciphersuites: property(list, [], "Cipher suites to use, by Java's or OpenSSL's names.", {
      defaultText: 'those of Node.js',
    }),
    crl: property(
      bool,
      false,
      'Check certificates against revocation lists. Every issuer needs one that is not out of date.',
      { departs: 'Lists are read from crl.location and the trust store; none is downloaded.' },
    ),
    'crl.location': property(path, undefined, 'File with revocation lists in PEM form.', {
      defaultText: 'none: those in a trust store of type PEM',
      departs: 'Only in zabra.',
    }),
    ocsp: property(
      bool,
      false,
      'Ask the issuer about revocation. Not supported: true is an error.',
    ),
  } as const
}

/** The keys of TLS for clients, or between servers. */
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
      'The certificate of a server must name the host of the connection. false also turns clientHostnameVerification off.',
    ),
    clientHostnameVerification: property(
      bool,
      checksClientNames,
      'The certificate of a connecting side must name its address.',
      checksClientNames
        ? { departs: 'The host of any member is accepted; no name is looked up for the address.' }
        : {},
    ),
    allowReverseDnsLookup: property(
      bool,
      false,
      'For clientHostnameVerification, also accept the name that DNS has for the address.',
    ),
    handshakeDetectionTimeoutMillis: property(
      ms,
      5000,
      'How long a port for both TLS and plain connections waits for the first byte before it treats a connection as plain. A TLS handshake may take twice as long.',
      { range: { min: 1, outside: 'default' } },
    ),
    'context.supplier.class': property(text, undefined, 'Java class that creates TLS contexts.', {
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
  'client.portUnification': property(
    bool,
    false,
    'Accept TLS and plain clients on the client port.',
  ),
  'netty.server.outstandingHandshake.limit': property(
    int,
    500,
    'TLS handshakes with clients in progress at the same time; -1 for any number. Others wait, up to twice as many, and take the place of clients that send nothing for two seconds.',
    { departs: '-1 by default in ZooKeeper, which closes connections above it.' },
  ),
  'client.certReload': property(
    bool,
    true,
    'Reload key store and trust store when they change. If that fails, the previous ones stay in use.',
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
    'true forbids DIGEST-MD5. To restrict Node.js to approved algorithms, start it with --force-fips.',
    {
      defaultText: 'not set',
      departs: 'true by default in ZooKeeper 3.9, whose servers then refuse DIGEST-MD5.',
    },
  ),
} as const

export const quorumTls = {
  sslQuorum: setting(bool, false, 'Use TLS between servers.'),
  portUnification: setting(
    bool,
    false,
    'Accept TLS and plain connections on the ports for other servers, so that an ensemble can switch to TLS one server at a time.',
  ),
  sslQuorumReloadCertFiles: setting(
    bool,
    true,
    'Reload the stores of ssl.quorum when they change.',
    { departs: 'false by default in ZooKeeper.' },
  ),
  ...prefixed('ssl.quorum.', sslKeys(true)),
} as const

export const adminTls = {
  ...prefixed('ssl.admin.', commonKeys(': those of ssl.quorum')),
} as const
