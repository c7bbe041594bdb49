const untrusted = '--tls-ca FILE names the authority that signed the certificate of the server'
const required = '--tls-cert FILE presents a certificate, as the server requires'
const plain = 'the port seems to speak no TLS: try without --tls, or with zk:// instead of zks://'
const secure = 'if the port speaks TLS: --tls, or zks://HOSTS as the connection string'

const byCode: Readonly<Record<string, string>> = {
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID:
    '--tls-server-name NAME is the name to expect in the certificate of the server',
  CERT_HAS_EXPIRED:
    'the server needs a new certificate; `zabra tls check HOST:PORT` shows its dates',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: required,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: required,
}

/** Whether a TLS handshake failed because the other side does not speak TLS. */
export function speaksPlain({ message, code }: NodeJS.ErrnoException): boolean {
  return message.includes('before secure TLS connection') || code === 'ERR_SSL_WRONG_VERSION_NUMBER'
}

/** What to try where TLS, or its absence, may be why a server cannot be used. */
export function tlsAdvice(problem: unknown): string | undefined {
  if (!(problem instanceof Error)) return undefined
  const { code = '' } = problem as NodeJS.ErrnoException
  if (speaksPlain(problem)) return plain
  if (problem.message === 'the connection ended') return secure
  return byCode[code]
}
