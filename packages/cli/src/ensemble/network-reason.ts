const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'the name server does not answer',
  EPIPE: 'connection closed',
  ETIMEDOUT: 'timed out',
}

/** Why a server cannot be reached, in words. */
export function networkReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  const { reason } = error as { readonly reason?: string }
  if (reason !== undefined && code?.startsWith('ERR_SSL_') === true) return `TLS: ${reason}`
  return (code === undefined ? undefined : reasons[code]) ?? message
}
